// `warpfold inspect` over small files: columns, totals, the JSON object, exit codes, nothing unprintable.
#include "cli/inspect.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/gguf_writer.h"
#include "support/safetensors_writer.h"
#include "support/temp_dir.h"

namespace warpfold::cli {
namespace {

using namespace warpfold::test;

struct Output {
  int code;
  std::string out, err;
  bool says(std::string_view text) const { return out.find(text) != std::string::npos; }
};

Output inspect(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "inspect");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = inspect_main(static_cast<int>(argv.size()), argv.data());
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

class Inspect : public testing::Test {
 protected:
  TempDir dir;
  std::string gguf = dir.write("m.gguf", GgufWriter()
                                             .value("general.architecture", std::string("llama"))
                                             .value("long", std::string(100, 'x'))
                                             .value("odd", std::string("a\n\x1b[31m\x7f\xff\xc2\x9b"))
                                             .value("scale", 1e-5f)
                                             .array<float>("scales", {0.1f, 2.0f})
                                             .array<std::int32_t>("ids", {1, 2, 3, 4, 5, 6})
                                             .array<std::string>("tokens", {"a", "b"})
                                             .tensor("w", kGgmlQ4_0, {2, 64}, Bytes(72))
                                             .tensor("v", kGgmlQ4_0, {32}, Bytes(18))
                                             .tensor("norm.weight", kGgmlF32, {1000}, Bytes(4000))
                                             .tensor("s", kGgmlF32, {}, Bytes(4))
                                             .build());
};

TEST_F(Inspect, PrintsColumnsAndTotals) {
  const Output o = inspect({gguf});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
  EXPECT_TRUE(o.says("m.gguf: GGUF version 3, 7 metadata entries, 4 tensors, 1161 parameters, 4.1 kB\n"))
      << o.out;
  EXPECT_TRUE(o.says("  general.architecture  string     \"llama\"\n")) << o.out;
  EXPECT_TRUE(o.says("  ids                   i32[6]     [1, 2, 3, 4, ...]\n")) << o.out;
  EXPECT_TRUE(o.says("  tokens                string[2]  [\"a\", \"b\"]\n")) << o.out;
  EXPECT_TRUE(o.says("  scale                 f32        1e-05\n")) << o.out;
  EXPECT_TRUE(o.says("xxx\" ... (100 bytes)\n")) << o.out;
  EXPECT_TRUE(
      o.says("  name         type   shape    size\n"
             "  w            Q4_0  2 x 64    72 B\n"
             "  v            Q4_0      32    18 B\n"
             "  norm.weight  F32     1000  4.0 kB\n"
             "  s            F32   scalar     4 B\n"))
      << o.out;
  EXPECT_TRUE(
      o.says("  type  tensors  parameters    size\n"
             "  F32         2        1001  4.0 kB\n"
             "  Q4_0        2         160    90 B\n"))
      << o.out;
}

TEST_F(Inspect, NothingUnprintableReachesTheTerminal) {
  const Output o = inspect({gguf});
  EXPECT_TRUE(o.says("\"a\\n\\u001b[31m\\u007f\xef\xbf\xbd\\u009b\"")) << o.out;
  for (const char c : o.out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST_F(Inspect, PrintsOneJsonObject) {
  const Output o = inspect({"--json", gguf});
  EXPECT_EQ(o.code, 0);
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(json["file"], gguf);
  EXPECT_EQ(json["format"], "GGUF version 3");
  EXPECT_EQ(json["metadata"]["ids"], (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(json["metadata"]["scales"], (std::vector<double>{0.1, 2.0}));
  EXPECT_EQ(json["metadata"]["long"], std::string(100, 'x'));
  EXPECT_EQ(json["metadata"]["scale"], 1e-5);
  ASSERT_EQ(json["tensors"].size(), 4u);
  EXPECT_EQ(json["tensors"][0],
            (nlohmann::json{{"name", "w"}, {"type", "Q4_0"}, {"shape", {2, 64}}, {"bytes", 72}}));
  EXPECT_EQ(json["tensors"][3]["shape"], nlohmann::json::array());
  EXPECT_EQ(json["types"]["F32"], (nlohmann::json{{"tensors", 2}, {"elements", 1001}, {"bytes", 4004}}));
  EXPECT_EQ(json["total"]["bytes"], 4094);
}

TEST_F(Inspect, ReadsSafetensorsFilesAndDirectories) {
  const std::string file =
      dir.write("model.safetensors",
                SafetensorsWriter().metadata("format", "pt").tensor("t", "BF16", {2, 3}, Bytes(12)).build());
  for (const std::string& path : {file, dir.path()}) {
    const Output o = inspect({path});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_TRUE(o.says(": safetensors, 1 metadata entries, 1 tensors, 6 parameters, 12 B\n")) << o.out;
    EXPECT_TRUE(o.says("  format  string  \"pt\"\n")) << o.out;
    EXPECT_TRUE(o.says("  t     BF16  2 x 3  12 B\n")) << o.out;
  }
}

TEST_F(Inspect, ExitCodesAndErrors) {
  const Output missing = inspect({dir.path() + "/none.gguf"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("none.gguf: No such file"), std::string::npos) << missing.err;
  const Output bad = inspect({"--json", dir.write("bad.gguf", "PK")});
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.out, "");
  EXPECT_NE(bad.err.find("bad.gguf: "), std::string::npos) << bad.err;
  for (const std::vector<std::string>& usage :
       {std::vector<std::string>{}, {gguf, "--what"}, {gguf, "more"}}) {
    const Output o = inspect(usage);
    EXPECT_EQ(o.code, 2);
    EXPECT_EQ(o.out, "");
    EXPECT_NE(o.err, "");
  }
  EXPECT_EQ(inspect({"--help"}).code, 0);
  EXPECT_EQ(inspect({dir.write("none.gguf", GgufWriter().build())}).code, 0);
}

}  // namespace
}  // namespace warpfold::cli
