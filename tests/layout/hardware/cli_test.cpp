// The hardware sub-commands through the tool's entry function.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/layout/layout.h"

namespace warpfold::cli {
namespace {

std::string run(std::vector<std::string> arguments, int exit_code = 0) {
  arguments.insert(arguments.begin(), "layout");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = layout_main(static_cast<int>(arguments.size()), argv.data());
  const std::string out = testing::internal::GetCapturedStdout(),
                    err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, exit_code) << err;
  return exit_code == 0 ? out : err;
}

TEST(HardwareCli, Banks) {
  EXPECT_EQ(run({"banks", "Sw<3,3,3> o (8,4):(64,8)"}),
            "128: 1 1 1 1 wavefronts in 4 phases\ntotal 4, without conflicts 4\n");
  EXPECT_EQ(run({"banks", "--access", "ldmatrix.x4", "(16,2):(64,8)"}),
            "ldmatrix.x4: 8 8 8 8 wavefronts in 4 phases; 8-way: phase 0 asks bank 0 for 8 words\n"
            "total 32, without conflicts 4\n");
  EXPECT_EQ(run({"banks", "--global", "32:8"}),
            "16 sectors of 32 bytes for 512 bytes, at best 16; 4 lines of 128 bytes\n");
  EXPECT_EQ(run({"banks", "32:4"}, 1), "lane 1 accesses 16 bytes at byte 8, which is no multiple of 16\n");
  run({"banks", "32:8", "--bits", "12"}, 2);
  run({"banks", "32:8", "--access", "96"}, 2);
  run({"banks", "(32:8"}, 2);
}

TEST(HardwareCli, BoundedWork) {
  EXPECT_EQ(run({"banks", "1073741824:0", "--access", "32", "--bits", "32"}, 1),
            "1073741824 lanes are too many to count, at most 1048576; give the instructions that differ\n");
  const std::string many = run({"banks", "65536:0", "--access", "32", "--bits", "32"});
  EXPECT_NE(
      many.find("32 63: 1 wavefronts in 1 phase\n... and 1984 more\ntotal 2048, without conflicts 2048\n"),
      std::string::npos);
  EXPECT_EQ(run({"banks", "32:288230376151711744", "--access", "64", "--bits", "64"}, 1),
            "overflow: offset 1152921504606846976 in elements of 8 bytes does not fit 64 bits\n");
}

TEST(HardwareCli, NumbersAndBlocks) {
  EXPECT_EQ(
      run({"wgmma", "(64,64):(64,1)", "--rows", "9223372036854775808"}, 2).find("--rows: column 1: overflow"),
      0u);
  run({"wgmma", "Sw<3,3,3> o (64,64):(64,1)", "--rows", "0"}, 2);
  run({"wgmma", "(64,64)", "--swizzle", "128", "--rows", "64"}, 2);
  run({"wgmma", "(64,64)", "--swizzle", "128", "--address", "1024"}, 2);
  EXPECT_EQ(run({"wgmma", "(64,64):(64,1)", "--address", "1k"}, 2),
            "--address: column 2: expected the end\n  1k\n   ^\n");
  EXPECT_EQ(run({"wgmma", "(64,64)", "--swizzle", "128", "--bits", "8"}, 1),
            "the K extent is 64 elements; one wgmma takes 32, one row of the swizzle has 128, and the extent "
            "is a multiple "
            "of both\n");
  EXPECT_EQ(run({"wgmma", "Sw<3,3,3> o (2048,64):(64,1)"}, 1),
            "one wgmma reads a block of 8 to 256 rows, a multiple of 8, not 2048; give the rows of a block, "
            "such as 64 "
            "(--rows 64)\n");
  EXPECT_EQ(run({"wgmma", "(9223372036854775800,9223372036854775744)", "--swizzle", "128"}, 1)
                .find("a tile of 9223372036854775800 x"),
            0u);
}

TEST(HardwareCli, TensorMaps) {
  EXPECT_EQ(run({"tma", "(4096,4096):(4096,1)", "Sw<3,3,3> o (128,64):(64,1)"}),
            "2 dimensions, box of 16384 bytes, swizzle of 128 bytes\n"
            "dimension 0: size 4096, stride 2 bytes, box 64; steps of 1 along mode 1\n"
            "dimension 1: size 4096, stride 8192 bytes, box 128; steps of 1 along mode 0\n");
  EXPECT_EQ(run({"tma", "(4096,4096):(4100,1)", "(128,64):(64,1)"}, 1),
            "dimension 1 moves 8200 bytes, which is no multiple of 16\n");
}

TEST(HardwareCli, Descriptors) {
  EXPECT_EQ(run({"wgmma", "(128,128)", "--swizzle", "128"}),
            "Sw<3,3,3> o ((8,16),(64,2)):((64,512),(1,8192))\n");
  EXPECT_EQ(run({"wgmma", "(64,64)", "--swizzle", "none", "--major", "mn"}),
            "((8,8),(8,8)):((1,512),(8,64))\n");
  EXPECT_EQ(
      run({"wgmma", "Sw<3,3,3> o (64,32):(64,1)", "--address", "1024"}),
      "canonical, K-major, 128-byte swizzle, LBO 16, SBO 1024, base offset 0\n1 of 64 rows, 2 of 16 in K\n"
      "rows 0, k 0: 0x4000004000010040\nrows 0, k 16: 0x4000004000010042\n");
  EXPECT_EQ(run({"wgmma", "(64,64):(64,1)"}, 1),
            "not canonical: element (1,0) lies at byte 128 of the unswizzled tile, the descriptor reads it "
            "at byte 16\n");
}

TEST(HardwareCli, Synthesis) {
  EXPECT_EQ(run({"synthesise", "(64,64)", "128@(8,4):(8,64)", "ldmatrix.x4@(16,2):(64,8)"}),
            "Sw<3,4,3> on bytes, which TMA writes\n8 wavefronts, plain 36, without conflicts 8; best of 49 "
            "arrangements\n"
            "128@(8,4):(8,64): 4, plain 4, without conflicts 4\n"
            "ldmatrix.x4@(16,2):(64,8): 4, plain 32, without conflicts 4\n");
  run({"synthesise", "(64,64)", "32:8"}, 2);
  EXPECT_EQ(
      run({"synthesise", "(64,64)", "128@(32,1000000000):(8,0)"}, 1).find("pattern 0 has 32000000000 lanes"),
      0u);
}

}  // namespace
}  // namespace warpfold::cli
