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
  EXPECT_EQ(out({"product", "(2,5):(5,1)", "(3,4):(1,3)", "--form", "blocked"}),
            "((2,3),(5,4)):((5,10),(1,30))\n");
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
            "not composable: modes 0 and 1 of B carry past 6 = P_1 of A: at coordinate (2,1) A(B) = 8 but "
            "the layout "
            "gives 7\n");
  EXPECT_EQ(run({"equal", "4:1", "(2,2):(1,3)"}).exit_code, 1);
  EXPECT_EQ(run({"divide", "40:1", "(4,2):(1,10)"}).exit_code, 1);
  EXPECT_NE(run({"divide", "40:1", "(4,2):(1,10)"}).err.find("\nindices: 8 9 18 19 28 29 38 39\n"),
            std::string::npos);
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
  EXPECT_EQ(run({"eval", "--extended", "(4,8):(1,4)", "(1,9223372036854775807)"}).err,
            "overflow: the offset at (1,9223372036854775807) does not fit 64 bits\n");
  EXPECT_EQ(run({"swizzle", "Sw<3,4>"}).exit_code, 2);
  EXPECT_EQ(run({"nonsense"}).exit_code, 2);
}

// What the command said, whether on the way out or not.
std::string said(std::vector<std::string> arguments, int exit_code) {
  const Outcome o = run(std::move(arguments));
  EXPECT_EQ(o.exit_code, exit_code) << o.out << o.err;
  return o.err;
}

TEST(LayoutCli, PlainNumbersNameTheColumn) {
  EXPECT_EQ(said({"complement", "4:1", "99999999999999999999"}, 2),
            "M: column 1: overflow: the number does not fit 64 bits\n  99999999999999999999\n  ^\n");
  EXPECT_EQ(said({"complement", "4:2", "24x"}, 2), "M: column 3: expected the end\n  24x\n    ^\n");
  EXPECT_EQ(said({"complement", "4:1", "0"}, 2), "M: column 1: expected a size of at least 1\n  0\n  ^\n");
  EXPECT_EQ(said({"complement", "4:1", "-5"}, 2), "M: column 1: expected a size of at least 1\n  -5\n  ^\n");
  EXPECT_EQ(said({"recognise", "0,1,2"}, 2), "value: column 2: expected the end\n  0,1,2\n   ^\n");
  EXPECT_EQ(said({"recognise", "0", "99999999999999999999"}, 2).find("value: column 1: overflow"), 0u);
  EXPECT_EQ(said({"swizzle", "Sw<3,4,3>", "12x"}, 2), "offset: column 3: expected the end\n  12x\n    ^\n");
  EXPECT_EQ(said({"swizzle", "Sw<3,4,3>", "--from", "8", "--to", "9223372036854775808"}, 2)
                .find("--to: column 1: overflow"),
            0u);
  EXPECT_EQ(said({"draw", "4:1", "--bytes", "x"}, 2), "--bytes: column 1: expected a number\n  x\n  ^\n");
  EXPECT_EQ(said({"draw", "4:1", "--bytes", "0"}, 2),
            "--bytes: an element has 1, 2, 4, ... or 128 bytes, not 0\n");
  EXPECT_EQ(said({"draw", "4:1", "--bytes", "12"}, 2).find("--bytes: an element has 1, 2, 4"), 0u);
  EXPECT_EQ(
      said({"recognise", "0", "4611686018427387904", "9223372036854775807"}, 1),
      "not a layout: at index 2 the value is 9223372036854775807 but a layout would have one past 64 bits\n");
  EXPECT_EQ(out({"recognise", "0", "-1", "-2"}), "3:-1\n");
  EXPECT_EQ(said({"compose", "(2,2):(1,4611686018427387904)", "(2,2):(4611686018427387904,1)", "--flat"}, 1)
                .find("overflow"),
            0u);
}

TEST(LayoutCli, Complements) {
  EXPECT_EQ(said({"complement", "4:2", "--padded"}, 2), "--padded rounds M up: give M\n");
  EXPECT_EQ(out({"complement", "32:1", "(12,32)"}), "12:32\n") << "M as a shape";
  EXPECT_EQ(out({"complement", "4:2"}), "2:1\n");
  EXPECT_NE(out({"explain", "complement", "4:2", "(2,4)"}).find("complement of A = 4:2 in [0,8)"),
            std::string::npos);
  EXPECT_NE(said({"explain", "complement", "4:2", "(2,3)"}, 1).find("does not divide 6"), std::string::npos);
  EXPECT_EQ(said({"explain", "complement", "4:2", "0"}, 2).find("M: column 1"), 0u);
}

TEST(LayoutCli, DifferencesHaveAWitness) {
  EXPECT_EQ(said({"equal", "(4,1):(1,0)", "4:1", "--extended"}, 1),
            "different: (4,1):(1,0) and 4:1: at index 4 they are 0 and 4\n");
  EXPECT_EQ(said({"equal", "(1073741824,4):(1,1073741824)", "(1073741824,4):(1,1073741825)"}, 1),
            "different: 4294967296:1 and (1073741824,4):(1,1073741825): at index 1073741824 they are "
            "1073741824 and "
            "1073741825\n");
  EXPECT_EQ(said({"equal", "4:1", "8:1"}, 1), "different: 4:1 and 8:1 have sizes 4 and 8\n");
  EXPECT_EQ(said({"equal", "Sw<2,0,2>(4,4):(4,1)", "(4,4):(4,1)"}, 1),
            "different: Sw<2,0,2> o (4,4):(4,1) and (4,4):(4,1): at index 1 they are 5 and 4\n");
  EXPECT_EQ(out({"equal", "Sw<2,2,2> o 4:1", "4:1"}), "equal: Sw<2,2,2> o 4:1\n") << "no bit is swizzled";
}

TEST(LayoutCli, OutsideTheShape) {
  EXPECT_EQ(said({"eval", "(4,8):(1,4)", "(5,2)"}, 2),
            "(5,2) lies outside the shape (4,8); --extended evaluates it, the last mode without bound\n");
  EXPECT_EQ(said({"eval", "4:1", "-1"}, 2).find("-1 lies outside the shape 4"), 0u);
  EXPECT_EQ(out({"eval", "4:1", "5", "--extended"}), "5\n");
  EXPECT_EQ(out({"eval", "(4,(2,3)):(3,(12,1))", "(3,5)"}), "23\n");
}

TEST(LayoutCli, PaddingAndOverlapAreNamed) {
  EXPECT_EQ(said({"divide", "(8,10):(10,1)", "<4,3>"}, 0),
            "padded: size 96 for 80 elements; predicate the indices from 10 to 11 of mode 1\n");
  EXPECT_EQ(said({"divide", "(7,10):(10,1)", "<4,3>"}, 0),
            "padded: size 96 for 70 elements; predicate the indices from 7 to 7 of mode 0, the indices from "
            "10 to 11 of "
            "mode 1\n");
  EXPECT_EQ(said({"product", "(4,2):(1,4)", "<2,3>", "--form", "flat"}, 0),
            "overlapping: not injective: indices 1 and 16 both have offset 1\n");
  EXPECT_EQ(said({"product", "(2,2):(4,1)", "6:1"}, 0), "");
}

TEST(LayoutCli, SwizzledLayouts) {
  EXPECT_EQ(out({"compose", "Sw<3,3,3> o (8,64):(64,1)", "(4,8):(2,8)"}), "Sw<3,3,3> o (4,8):(128,1)\n");
  EXPECT_EQ(out({"compose", "Sw<3,3,3> o 5 o (8,64):(64,1)", "<4,8>"}), "Sw<3,3,3> o 5 o (4,8):(64,1)\n");
  EXPECT_EQ(out({"divide", "Sw<3,3,3> o (64,64):(64,1)", "<8,8>"}),
            "Sw<3,3,3> o ((8,8),(8,8)):((64,512),(1,8))\n");
  EXPECT_EQ(out({"coalesce", "Sw<3,3,3> o (8,8):(1,8)"}), "Sw<3,3,3> o 64:1\n");
  EXPECT_EQ(out({"inverse", "Sw<2,0,2>(4,4):(4,1)"}), "Sw<2,0,-2> o (4,4):(4,1)\n");
  EXPECT_EQ(said({"compose", "(8,64):(64,1)", "Sw<3,3,3> o (8,8):(8,1)"}, 2),
            "B: a swizzle on the right, A o Sw o B, is no layout\n");
  EXPECT_EQ(said({"complement", "Sw<2,0,2>(4,4):(4,1)"}, 2).find("A: a plain layout is needed here"), 0u);
  EXPECT_EQ(out({"draw", "Sw<1,0,1>(2,2):(2,1)", "--threads-on", "(2,2)"}),
            "Sw<1,0,1> o (2,2):(2,1) on 2 x 2\n    0   1 \n0  T0  T1 \n   V0  V1 \n1  T0  T1 \n   V1  V0 \n"
            "  T: thread, V: value of the thread, colour: thread mod 8\n");
  EXPECT_EQ(said({"draw", "4:1", "--threads-on", "(0,2)"}, 2).find("a thread-value layout"), 0u);
  EXPECT_EQ(said({"draw", "(2,2)", "--threads-on", "(0,2)"}, 2),
            "a picture has at least 1 x 1 cells, not 0 x 2\n");
}

TEST(LayoutCli, SwizzlesThatAreNoSingleOne) {
  EXPECT_EQ(out({"swizzle", "Sw<3,4,3>", "--after", "Sw<2,4,4>"}),
            "no single Sw<B,M,S>; over GF(2) bit i of the result is yi, the other bits stay:\n"
            "y4 = x4 ^ x7 ^ x8\ny5 = x5 ^ x8 ^ x9\ny6 = x6 ^ x9\n");
  EXPECT_EQ(out({"swizzle", "Sw<3,4,3>", "--after", "Sw<2,4,4>", "128", "256"}), "144\n304\n");
  EXPECT_EQ(out({"swizzle", "Sw<3,4,3>", "--after", "Sw<3,4,3>"}), "Sw<0,0,0>\n");
}

TEST(LayoutCli, ExplainTilersAndProducts) {
  const std::string divided = out({"explain", "divide", "(8,10):(10,1)", "<4,3>"});
  EXPECT_NE(divided.find("mode 1\ndivide A / B"), std::string::npos) << divided;
  EXPECT_NE(divided.find("A / B = ((4,2),(3,4)):((10,40),(1,3))   (padded)\n"), std::string::npos) << divided;
  EXPECT_NE(out({"explain", "compose", "(12,(4,8)):(59,(13,1))", "<3:4,8:2>"})
                .find("A o B = (3,(2,4)):(236,(26,1))"),
            std::string::npos);
  const std::string product = out({"explain", "product", "(2,2):(4,1)", "6:1"});
  EXPECT_NE(product.find("A* in [0,24) = (2,3):(2,8)"), std::string::npos) << product;
  EXPECT_NE(product.find("A (x) B = ((2,2),(2,3)):((4,1),(2,8))   (exact)"), std::string::npos) << product;
  EXPECT_NE(out({"explain", "product", "(4,2):(1,4)", "<2,3>"}).find("(overlapping)"), std::string::npos);
}

TEST(LayoutCli, ExplainShowsTheNumbers) {
  const std::string text = out({"explain", "compose", "(10,2):(16,4)", "(3,4):(1,5)"});
  EXPECT_NE(text.find("P_1 = 10, gap g_1 = 10*16 - 4 = 156"), std::string::npos) << text;
  EXPECT_NE(text.find("2*1 + 1*5 = 7 < 10, no carry"), std::string::npos) << text;
  EXPECT_NE(text.find("R = (3,(2,2)):(16,(80,4))"), std::string::npos) << text;
  EXPECT_NE(out({"explain", "divide", "19:1", "4:2"}).find("padded: 19 rounds up to 24"), std::string::npos);
  const Outcome lossy = run({"explain", "divide", "40:1", "(4,2):(1,10)"});
  EXPECT_EQ(lossy.exit_code, 1);
  EXPECT_NE(lossy.out.find("A / B is refused: lossy: "), std::string::npos) << lossy.out;
  EXPECT_NE(out({"explain", "compose", "(6,3,8):(3,3,24)", "4:16"}).find("the carries cancel\nR = 4:18"),
            std::string::npos);
  EXPECT_EQ(text.find("cancel\n"), std::string::npos);
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
  EXPECT_EQ(out({"draw", "((2,2),(2,(2,2))):((1,4),(2,(8,16)))"}),
            "((2,2),(2,(2,2))):((1,4),(2,(8,16)))\n"
            "    0   1    2   3    4   5    6   7 \n"
            "0   0   2 :  8  10 | 16  18 : 24  26 \n"
            "1   1   3 :  9  11 | 17  19 : 25  27 \n"
            "  --------+--------+--------+--------\n"
            "2   4   6 : 12  14 | 20  22 : 28  30 \n"
            "3   5   7 : 13  15 | 21  23 : 29  31 \n");
  EXPECT_EQ(out({"draw", "(1,2,2,2)"}),
            "(1,2,2,2):(1,1,2,4)\n   0  1   2  3   4  5   6  7 \n0  0  1 : 2  3 | 4  5 : 6  7 \n");
  EXPECT_NE(out({"draw", "(2,2):(2,1)", "--threads-on", "(2,2)"}).find("T0"), std::string::npos);
  EXPECT_EQ(run({"draw", "(2,2):(2,1)", "--threads-on", "(2,2)", "--colour", "bank"}).exit_code, 2);
  EXPECT_NE(
      out({"draw", "(1,2):(0,4611686018427387905)", "--colour", "bank", "--bytes", "128"}).find("b0-31"),
      std::string::npos)
      << "bytes past 64 bits";
  EXPECT_EQ(run({"draw", "(1000,1000)"}).exit_code, 1);
  const std::string wide = out({"draw", "(5,128):(128,1)"});  // every printed number is an offset, in order
  std::size_t at = wide.find("127") + 3;                      // past the header
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
  const std::string refused =
      batch(R"json({"id":"r","op":"compose","a":"(6,2):(1,7)","b":"(3,2):(2,3)"})json");
  EXPECT_EQ(refused.find(R"json({"id":"r","ok":false,"reason":"not composable:)json"), 0u) << refused;
  EXPECT_NE(refused.find(R"json("witness":[2,1]})json"), std::string::npos) << refused;
  EXPECT_EQ(batch("{\"id\":2,\"op\":\"divide\",\"a\":\"19:1\",\"b\":\"4:2\"}\n"),
            "{\"id\":2,\"ok\":true,\"layout\":\"(4,(2,3)):(2,(1,8))\",\"verdict\":\"padded\",\"outside\":[{"
            "\"from\":19,\"to\":23}]}\n");
  EXPECT_EQ(batch(R"json({"id":3,"op":"complement","a":"4:2","m":24})json"),
            "{\"id\":3,\"ok\":true,\"layout\":\"(2,3):(1,8)\",\"verdict\":\"exact\"}\n");
  EXPECT_EQ(batch(R"json({"id":4,"op":"eval","a":"(4,2):(1,10)","x":"(1,1)"})json"),
            "{\"id\":4,\"ok\":true,\"value\":11}\n");
  EXPECT_EQ(batch(R"json({"id":5,"op":"equal","a":"4:1","b":"(2,2):(1,2)"})json"),
            "{\"id\":5,\"ok\":true,\"equal\":true}\n");
  EXPECT_EQ(batch(R"json({"id":6,"op":"left_inverse","a":"(4,2):(1,5)"})json"),
            "{\"id\":6,\"ok\":true,\"layout\":\"(5,2):(1,4)\",\"verdict\":\"exact\"}\n");
  EXPECT_NE(batch(R"json({"id":9,"op":"divide","a":"40:1","b":"(4,2):(1,10)"})json")
                .find(R"json("witness":[8,9,18,19,28,29,38,39]})json"),
            std::string::npos);
  EXPECT_NE(batch(R"json({"id":10,"op":"compose","a":"(4,6):(6,1)","b":"(3,8):(1,3)"})json")
                .find(R"json("flat":"(4,6):(6,1)"})json"),
            std::string::npos);
  EXPECT_EQ(batch("not json\n", 2), "{\"id\":null,\"ok\":false,\"reason\":\"line 1 is no JSON object\"}\n");
  EXPECT_NE(batch(R"json({"id":7,"op":"coalesce","a":"(4,6:(1,4)"})json").find("column 5"),
            std::string::npos);
  EXPECT_NE(
      batch(R"json({"id":8,"op":"complement","a":"4:1","m":18446744073709551615})json").find("overflow"),
      std::string::npos);
}

// One line to `batch`, without the id and the braces.
std::string one(const std::string& line) {
  const std::string answer = batch("{\"id\":1," + line + "}\n");
  EXPECT_EQ(answer.find("{\"id\":1,"), 0u) << answer;
  return answer.substr(8, answer.size() - 10);
}

TEST(LayoutCli, BatchFields) {
  EXPECT_EQ(one(R"json("op":"product","form":"blocked","a":"(2,5):(5,1)","b":"(3,4):(1,3)")json"),
            R"json("ok":true,"layout":"((2,3),(5,4)):((5,10),(1,30))","verdict":"exact")json");
  EXPECT_EQ(one(R"json("op":"product","form":"raked","a":"(2,5):(5,1)","b":"(3,4):(1,3)")json"),
            R"json("ok":true,"layout":"((3,2),(4,5)):((10,5),(30,1))","verdict":"exact")json");
  EXPECT_EQ(one(R"json("op":"divide","form":"zipped","a":"(8,12):(12,1)","b":"<4,3>")json"),
            R"json("ok":true,"layout":"((4,3),(2,4)):((12,1),(48,3))","verdict":"exact")json");
  EXPECT_EQ(
      one(R"json("op":"divide","form":"flat","a":"(8,10):(10,1)","b":"<4,3>")json"),
      R"json("ok":true,"layout":"(4,3,2,4):(10,1,40,3)","verdict":"padded","outside":[{"mode":1,"from":10,"to":11}])json");
  EXPECT_EQ(one(R"json("op":"divide","form":"raked","a":"4:1","b":"2:1")json"),
            R"json("ok":false,"reason":"unknown form \"raked\"")json");
  EXPECT_EQ(one(R"json("op":"equal","a":"4:1","b":"4:1","form":"flat")json"),
            R"json("ok":false,"reason":"equal has no field \"form\"")json");
  EXPECT_EQ(one(R"json("op":"equal","a":"4:1","b":"4:1","a b":"flat")json"),
            R"json("ok":false,"reason":"equal has no field \"a b\"")json");
  EXPECT_EQ(one(R"json("op":"transpose","a":"4:1")json"),
            R"json("ok":false,"reason":"unknown op \"transpose\"")json");
  EXPECT_EQ(
      one(R"json("op":"equal","a":"4:1","b":"(2,2):(1,3)")json"),
      R"json("ok":true,"equal":false,"reason":"different: 4:1 and (2,2):(1,3): at index 2 they are 2 and 3","witness":[2])json");
  EXPECT_NE(one(R"json("op":"compose","a":"(2,3):(4,0)","b":"(3,2,1):(3,1,9)")json")
                .find(R"json("flat":"(2,3):(4,0)")json"),
            std::string::npos);
  EXPECT_EQ(one(R"json("op":"compose","a":"Sw<3,3,3> o (8,64):(64,1)","b":"(4,8):(2,8)")json"),
            R"json("ok":true,"layout":"Sw<3,3,3> o (4,8):(128,1)","verdict":"exact")json");
  EXPECT_EQ(
      one(R"json("op":"product","a":"(4,2):(1,4)","b":"<2,3>")json"),
      R"json("ok":true,"layout":"((4,2),(2,3)):((1,4),(4,1))","verdict":"overlapping","note":"not injective: indices 1 and 16 both have offset 1","witness":[1,16])json");
  EXPECT_EQ(one(R"json("op":"complement","a":"32:1","m":"(12,32)")json"),
            R"json("ok":true,"layout":"12:32","verdict":"exact")json");
  EXPECT_EQ(one(R"json("op":"eval","a":"4:1","x":5,"extended":true)json"), R"json("ok":true,"value":5)json");
  EXPECT_NE(one(R"json("op":"eval","a":"4:1","x":5)json").find("5 lies outside the shape 4"),
            std::string::npos);
}

TEST(LayoutCli, BatchNamesWhatItCannotRead) {
  EXPECT_EQ(one(R"json("op":"coalesce","a":"4:1\u0000:junk")json"),
            R"json("ok":false,"reason":"a: column 4: expected the end")json");
  EXPECT_EQ(one(R"json("op":"coalesce","a":"4\u0000:1")json"),
            R"json("ok":false,"reason":"a: column 2: expected the end")json");
  const std::string folder = testing::TempDir();
  EXPECT_EQ(said({"batch", folder}, 2), folder + ": cannot be read\n");
  EXPECT_EQ(said({"batch", folder + "no such file"}, 2), folder + "no such file: cannot be read\n");
}

TEST(LayoutCli, BatchSurvivesHostileLines) {
  const std::string deep(200000, '['), shut(200000, ']');
  EXPECT_EQ(batch("{\"id\":" + deep + shut + R"(,"op":"coalesce","a":"4:1"})"),
            "{\"id\":null,\"ok\":false,\"reason\":\"field \\\"id\\\" must be a number or a text\"}\n");
  EXPECT_EQ(batch(deep + "\n", 2), "{\"id\":null,\"ok\":false,\"reason\":\"line 1 is no JSON object\"}\n");
  EXPECT_NE(
      batch(R"({"id":1,"op":"coalesce","a":")" + std::string(300000, '(') + "\"}").find("column 300001"),
      std::string::npos);
  EXPECT_EQ(batch("{\"op\":\"eval\",\"a\":\"\xff:1\"}\n", 2).find("{\"id\":null,\"ok\":false"), 0u);
}

}  // namespace
}  // namespace warpfold::cli
