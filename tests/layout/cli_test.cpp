// The command line through its entry function: answers, reasons, exit codes, and the JSON lines of `batch`.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "cli/layout/layout.h"

namespace warpfold::cli {
namespace {

struct Outcome {
  int exit_code;
  std::string out, err;
};

Outcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "layout");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome o{layout_main(static_cast<int>(arguments.size()), argv.data()), "", ""};
  o.out = testing::internal::GetCapturedStdout();
  o.err = testing::internal::GetCapturedStderr();
  return o;
}

std::string out(std::vector<std::string> arguments) {
  const Outcome o = run(std::move(arguments));
  EXPECT_EQ(o.exit_code, 0) << o.err;
  return o.out;
}

std::string batch(const std::string& lines, int exit_code = 0) {
  const std::string name = testing::TempDir() + "layout_batch.jsonl";
  std::ofstream(name) << lines;
  const Outcome o = run({"batch", name});
  EXPECT_EQ(o.exit_code, exit_code);
  return o.out;
}

TEST(LayoutCli, Answers) {
  EXPECT_EQ(out({"compose", "(6,2):(8,2)", "(4,3):(3,1)"}), "((2,2),3):((24,2),8)\n");
  EXPECT_EQ(out({"compose", "(12,(4,8)):(59,(13,1))", "<3:4,8:2>"}), "(3,(2,4)):(236,(26,1))\n");
  EXPECT_EQ(out({"compose", "--flat", "(4,6):(6,1)", "(3,8):(1,3)"}), "(4,6):(6,1)\n");
  EXPECT_EQ(out({"divide", "(8,12):(12,1)", "<4,3>", "--form", "zipped"}), "((4,3),(2,4)):((12,1),(48,3))\n");
  EXPECT_EQ(out({"product", "(2,5):(5,1)", "(3,4):(1,3)", "--form", "blocked"}), "((2,3),(5,4)):((5,10),(1,30))\n");
  EXPECT_EQ(out({"complement", "4:2", "24"}), "(2,3):(1,8)\n");
  EXPECT_EQ(out({"complement", "4:2", "19", "--padded"}), "(2,3):(1,8)\n");
  EXPECT_EQ(out({"inverse", "(4,8):(8,1)"}), "(8,4):(4,1)\n");
  EXPECT_EQ(out({"inverse", "--left", "(4,2):(1,5)"}), "(5,2):(1,4)\n");
  EXPECT_EQ(out({"coalesce", "(2,(1,6)):(1,(6,2))"}), "12:1\n");
  EXPECT_EQ(out({"recognise", "0", "2", "4", "1", "3", "5"}), "(3,2):(2,1)\n");
  EXPECT_EQ(out({"equal", "(2,(1,6)):(1,(6,2))", "12:1"}), "equal: 12:1\n");
  EXPECT_EQ(out({"eval", "(4,(2,3)):(3,(12,1))", "(1,5)", "21"}), "17\n17\n");
  EXPECT_EQ(out({"eval", "Sw<2,0,2>(4,4):(4,1)"}), "0 5 10 15 1 4 11 14 2 7 8 13 3 6 9 12\n");
  EXPECT_EQ(out({"swizzle", "Sw<3,4,3>", "--from", "8", "--to", "16"}), "Sw<3,3,3>\n");
  EXPECT_EQ(out({"swizzle", "Sw<3,4,3>", "128"}), "144\n");
}

TEST(LayoutCli, Refusals) {
  const Outcome o = run({"compose", "(6,2):(1,7)", "(3,2):(2,3)"});
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_EQ(o.err,
            "not composable: modes 0 and 1 of B carry past 6 = P_1 of A: at coordinate (2,1) A(B) = 8 but the layout "
            "gives 7\n");
  EXPECT_EQ(run({"equal", "4:1", "(2,2):(1,3)"}).exit_code, 1);
  EXPECT_EQ(run({"divide", "40:1", "(4,2):(1,10)"}).exit_code, 1);
  EXPECT_NE(run({"divide", "40:1", "(4,2):(1,10)"}).err.find("\nindices: 8 9 18 19 28 29 38 39\n"), std::string::npos);
  EXPECT_NE(run({"divide", "400:1", "(4,2):(1,10)"}).err.find("68 69 78 79 88 89 98 99"), std::string::npos);
  EXPECT_EQ(run({"recognise", "0", "4", "3", "2", "1", "5"}).exit_code, 1);
}

TEST(LayoutCli, BadInputNamesTheColumn) {
  const Outcome o = run({"compose", "(6,2:(1,7)", "4:1"});
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_EQ(o.err, "A: column 5: expected ',' or ')'\n  (6,2:(1,7)\n      ^\n");
  EXPECT_EQ(run({"eval", "99999999999999999999:1"}).err,
            "A: column 1: overflow: the number does not fit 64 bits\n  99999999999999999999:1\n  ^\n");
  EXPECT_EQ(run({"eval", "(4,8):(1,4)", "(1,2,3)"}).exit_code, 2);
  EXPECT_EQ(run({"eval", "(4,8):(1,4)", "(1,9223372036854775807)"}).err,
            "overflow: the offset at (1,9223372036854775807) does not fit 64 bits\n");
  EXPECT_EQ(run({"swizzle", "Sw<3,4>"}).exit_code, 2);
  EXPECT_EQ(run({"nonsense"}).exit_code, 2);
}

TEST(LayoutCli, ExplainShowsTheNumbers) {
  const std::string text = out({"explain", "compose", "(10,2):(16,4)", "(3,4):(1,5)"});
  EXPECT_NE(text.find("P_1 = 10, gap g_1 = 10*16 - 4 = 156"), std::string::npos) << text;
  EXPECT_NE(text.find("2*1 + 1*5 = 7 < 10, no carry"), std::string::npos) << text;
  EXPECT_NE(text.find("R = (3,(2,2)):(16,(80,4))"), std::string::npos) << text;
  EXPECT_NE(out({"explain", "divide", "19:1", "4:2"}).find("padded: 19 rounds up to 24"), std::string::npos);
  EXPECT_EQ(run({"explain", "divide", "40:1", "(4,2):(1,10)"}).exit_code, 1);
}

TEST(LayoutCli, Draw) {
  EXPECT_EQ(out({"draw", "((2,2),(2,2)):((1,4),(2,8))"}),
            "((2,2),(2,2)):((1,4),(2,8))\n"
            "    0   1    2   3 \n"
            "0   0   2 |  8  10 \n"
            "1   1   3 |  9  11 \n"
            "  --------+--------\n"
            "2   4   6 | 12  14 \n"
            "3   5   7 | 13  15 \n");
  EXPECT_NE(out({"draw", "(2,2):(2,1)", "--threads-on", "(2,2)"}).find("T0"), std::string::npos);
  EXPECT_EQ(run({"draw", "(1000,1000)"}).exit_code, 1);
  const std::string wide = out({"draw", "(5,128):(128,1)"});  // every printed number is an offset, in order
  std::size_t at = wide.find("127") + 3;                       // past the header
  for (int row = 0; row < 5; ++row) {
    at = wide.find(std::string("\n") + std::to_string(row) + " ", at - 3) + 2;
    for (int column = 0; column < 128; ++column) {
      const std::string number = std::to_string(row * 128 + column);
      at = wide.find_first_not_of(' ', at);
      ASSERT_EQ(wide.substr(at, number.size()), number);
      at += number.size();
    }
  }
}

TEST(LayoutCli, BatchLines) {
  EXPECT_EQ(batch(R"json({"id":1,"op":"compose","a":"(6,2):(8,2)","b":"(4,3):(3,1)"})json"),
            "{\"id\":1,\"ok\":true,\"layout\":\"((2,2),3):((24,2),8)\",\"verdict\":\"exact\"}\n");
  const std::string refused = batch(R"json({"id":"r","op":"compose","a":"(6,2):(1,7)","b":"(3,2):(2,3)"})json");
  EXPECT_EQ(refused.find(R"json({"id":"r","ok":false,"reason":"not composable:)json"), 0u) << refused;
  EXPECT_NE(refused.find(R"json("witness":[2,1]})json"), std::string::npos) << refused;
  EXPECT_EQ(batch("{\"id\":2,\"op\":\"divide\",\"a\":\"19:1\",\"b\":\"4:2\"}\n"),
            "{\"id\":2,\"ok\":true,\"layout\":\"(4,(2,3)):(2,(1,8))\",\"verdict\":\"padded\"}\n");
  EXPECT_EQ(batch(R"json({"id":3,"op":"complement","a":"4:2","m":24})json"),
            "{\"id\":3,\"ok\":true,\"layout\":\"(2,3):(1,8)\",\"verdict\":\"exact\"}\n");
  EXPECT_EQ(batch(R"json({"id":4,"op":"eval","a":"(4,2):(1,10)","x":"(1,1)"})json"), "{\"id\":4,\"ok\":true,\"value\":11}\n");
  EXPECT_EQ(batch(R"json({"id":5,"op":"equal","a":"4:1","b":"(2,2):(1,2)"})json"), "{\"id\":5,\"ok\":true,\"equal\":true}\n");
  EXPECT_EQ(batch(R"json({"id":6,"op":"left_inverse","a":"(4,2):(1,5)"})json"),
            "{\"id\":6,\"ok\":true,\"layout\":\"(5,2):(1,4)\",\"verdict\":\"exact\"}\n");
  EXPECT_NE(batch(R"json({"id":9,"op":"divide","a":"40:1","b":"(4,2):(1,10)"})json").find(R"json("witness":[8,9,18,19,28,29,38,39]})json"),
            std::string::npos);
  EXPECT_NE(batch(R"json({"id":10,"op":"compose","a":"(4,6):(6,1)","b":"(3,8):(1,3)"})json")
                .find(R"json("flat":"(4,6):(6,1)"})json"),
            std::string::npos);
  EXPECT_EQ(batch("not json\n", 2), "{\"id\":null,\"ok\":false,\"reason\":\"line 1 is no JSON object\"}\n");
  EXPECT_NE(batch(R"json({"id":7,"op":"coalesce","a":"(4,6:(1,4)"})json").find("column 5"), std::string::npos);
  EXPECT_NE(batch(R"json({"id":8,"op":"complement","a":"4:1","m":18446744073709551615})json").find("overflow"), std::string::npos);
}

TEST(LayoutCli, BatchSurvivesHostileLines) {
  const std::string deep(200000, '['), shut(200000, ']');
  EXPECT_EQ(batch("{\"id\":" + deep + shut + R"(,"op":"coalesce","a":"4:1"})"),
            "{\"id\":null,\"ok\":false,\"reason\":\"field \\\"id\\\" must be a number or a text\"}\n");
  EXPECT_EQ(batch(deep + "\n", 2), "{\"id\":null,\"ok\":false,\"reason\":\"line 1 is no JSON object\"}\n");
  EXPECT_NE(batch(R"({"id":1,"op":"coalesce","a":")" + std::string(300000, '(') + "\"}").find("column 300001"), std::string::npos);
  EXPECT_EQ(batch("{\"op\":\"eval\",\"a\":\"\xff:1\"}\n", 2).find("{\"id\":null,\"ok\":false"), 0u);
}

}  // namespace
}  // namespace warpfold::cli
