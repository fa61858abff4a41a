// What the GEMM refuses, and in which words.
#include <gtest/gtest.h>

#include "kernels/device_rules.h"
#include "warpfold/kernels/gemm/row_sums.h"
#include "warpfold/kernels/gemm/tiles.h"

namespace warpfold::kernels::gemm {
namespace {

// Nothing is read or written: four places that lie far apart.
char* place(int i) { return reinterpret_cast<char*>(uintptr_t(i + 1) << 44); }

Problem good() {
  Problem p;
  p.m = 100;
  p.n = 200;
  p.k = 64;
  p.a = {place(0), 64};
  p.b = {place(1), 64};
  p.c = {place(2), 200};
  p.d = place(3);
  p.d_stride = 200;
  return p;
}

std::string why(const Problem& p) {
  const Status s = can_run(p);
  return s ? "" : s.error().message;
}

TEST(GemmChecks, Accepts) {
  EXPECT_EQ(why(good()), "");
  Problem p = good();
  p.m = 0;
  p.a.data = nullptr;
  EXPECT_EQ(why(p), "") << "nothing to do";
  p = good();
  p.k = 0;
  p.a = p.b = {};
  EXPECT_EQ(why(p), "") << "A and B are not used";
  p = good();
  p.alpha = 0;
  p.a = p.b = {};
  EXPECT_EQ(why(p), "");
  p = good();
  p.c = {};
  EXPECT_EQ(why(p), "") << "beta = 0";
  p = good();
  p.m = 1;
  p.a.stride = 7;
  p.d_stride = 3;
  EXPECT_EQ(why(p), "") << "the stride of a single row is never used";
}

TEST(GemmChecks, NamesArgumentAndRule) {
  Problem p = good();
  p.m = -1;
  EXPECT_EQ(why(p), "gemm: M = -1 is negative");
  p = good();
  p.n = int64_t{1} << 40;
  EXPECT_EQ(why(p), "gemm: N = 1099511627776 is above 2147482624");
  p = good();
  p.a.data = nullptr;
  EXPECT_EQ(why(p), "gemm: A is null");
  p = good();
  p.b.data = place(1) + 2;
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(copy_reason(p), "gemm: B starts 2 bytes after a multiple of 16; TMA needs a multiple of 16");
  p.b.data = place(1) + 1;
  EXPECT_EQ(why(p), "gemm: B starts 1 bytes after a multiple of 2, its elements' size");
  p = good();
  p.a.stride = 56;
  EXPECT_EQ(why(p), "gemm: A has a row stride of 56 elements, below its rows of 64 elements");
  p = good();
  p.d_stride = 201;
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(copy_reason(p), "gemm: D has a row stride of 201 elements = 402 bytes; TMA needs a multiple of 16 bytes");
  p = good();
  p.b.stride = int64_t{1} << 40;
  p.n = 2;
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(copy_reason(p), "gemm: B has a row stride of 1099511627776 elements; TMA needs less than 2^40 bytes");
  p = good();
  p.a.stride = INT64_MIN;
  EXPECT_NE(why(p).find("below its rows"), std::string::npos);
  p = good();
  p.beta = 1;
  p.c.data = nullptr;
  EXPECT_EQ(why(p), "gemm: C is null");
  p = good();
  p.d = nullptr;
  EXPECT_EQ(why(p), "gemm: D is null");
  p = good();
  p.type = DType::kI32;
  EXPECT_EQ(why(p), "gemm: products of I32 are not supported; those of BF16, F16, F32 (as TF32), F8_E4M3 and F8_E5M2, and I8 are");
  p.type = DType::kBF16;
  p.b_type = DType::kF16;
  EXPECT_EQ(why(p), "gemm: products of BF16 by F16 are not supported; those of BF16, F16, F32 (as TF32), F8_E4M3 and F8_E5M2, and I8 are");
  p = good();
  p.output_type = DType::kF16;
  EXPECT_EQ(why(p), "gemm: BF16 with a result of type F16 is not supported; BF16, F32 or I8 is");
  p = good();
  p.type = DType::kI8;
  p.output_type = DType::kI32;
  EXPECT_EQ(why(p), "");
  p.alpha = 2;
  EXPECT_EQ(why(p), "gemm: a result of type I32 takes neither alpha, beta, scales, bias nor activation");
  p.alpha = 1;
  p.a.stride = 72;
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(copy_reason(p), "gemm: A has a row stride of 72 elements = 72 bytes; TMA needs a multiple of 16 bytes");
  p = good();
  p.output_type = DType::kF32;
  p.row_scale = reinterpret_cast<const float*>(place(4));
  EXPECT_EQ(why(p), "gemm: BF16 with a result of type F32 is compiled without scales, bias, activation and row_amax");
  p = good();
  p.column_scale = reinterpret_cast<const float*>(place(4) + 2);
  EXPECT_EQ(why(p), "gemm: column_scale starts 2 bytes after a multiple of 4");
  p = good();
  p.type = DType::kI8;
  p.a.column_major = true;
  p.a.stride = 112;
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(copy_reason(p), "gemm: A is column-major; WGMMA takes I8 only where K is contiguous");
  p = good();
  p.a.column_major = true;
  EXPECT_EQ(why(p), "gemm: A has a column stride of 64 elements, below its columns of 100 elements");
  p = good();
  p.gate = Gate::interleaved;
  p.n = 100;
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(copy_reason(p), "gemm: a gated product has N = 100 columns; TMA takes gate and up by eights");
  p = good();
  p.batches = 3;
  EXPECT_EQ(why(p), "gemm: D has a batch stride of 0: all batches would be written to one place");
  p.d_batch_stride = 20001;
  EXPECT_EQ(why(p), "");
  EXPECT_EQ(copy_reason(p), "gemm: D has a batch stride of 20001 elements = 40002 bytes; TMA needs a multiple of 16 bytes");
  p.d_batch_stride = -8;
  EXPECT_EQ(why(p), "gemm: D has a batch stride of -8 elements");
  p = good();
  p.m = 1 << 30;
  p.n = 1;
  p.d_stride = int64_t{1} << 38;
  EXPECT_EQ(why(p), "gemm: D reaches more than 2^62 bytes past its start, beyond the address space");
  p = good();
  p.d = reinterpret_cast<void*>(~uintptr_t{63});
  EXPECT_EQ(why(p), "gemm: D reaches 40000 bytes past its start, beyond the address space");
  p = good();
  p.m = p.n = p.d_stride = 1 << 30;

  EXPECT_EQ(why(p), "gemm: M x N = 1073741824 x 1073741824 has too many tiles");
}

// D apart from A, B and C, or C itself; as far as it is decided.
TEST(GemmChecks, Overlaps) {
  const std::string with_a = "gemm: D overlaps A, which is read while D is written";
  const std::string with_b = "gemm: D overlaps B, which is read while D is written";
  const std::string with_c =
      "gemm: D overlaps C without being C: data and strides have to be the same, or the memory apart";
  Problem p = good();
  p.d = place(0);
  EXPECT_EQ(why(p), with_a);
  p.alpha = 0;
  EXPECT_EQ(why(p), "") << "A is not read";
  p = good();
  p.d = place(1) + 200 * 64 * 2 - 16;  // the last bytes of B
  EXPECT_EQ(why(p), with_b);
  p.d = place(1) + 200 * 64 * 2;
  EXPECT_EQ(why(p), "");
  p.d = place(1) - 100 * 200 * 2 + 16;
  EXPECT_EQ(why(p), with_b);
  p.d = place(1) - 100 * 200 * 2;
  EXPECT_EQ(why(p), "");
  // Side by side in one matrix of 512 columns: A in columns 0 to 63, D from 64 on, or one unit earlier.
  p = good();
  p.a.stride = p.d_stride = 512;
  p.d = place(0) + 64 * 2;
  EXPECT_EQ(why(p), "");
  p.d = place(0) + 56 * 2;
  EXPECT_EQ(why(p), with_a);
  p.d = place(0) + (512 - 200) * 2;
  EXPECT_EQ(why(p), "") << "up to the end of the row";
  p.d = place(0) + (512 - 192) * 2;
  EXPECT_EQ(why(p), with_a) << "into the next row";
  p.d = place(0) + (512 * 3 + 64) * 2;
  EXPECT_EQ(why(p), "") << "three rows further on";
  // D without gaps in a gap of B: between two of its rows, and reaching into the next.
  p = good();
  p.b.stride = 1 << 20;
  p.d = place(1) + 64 * 2;
  EXPECT_EQ(why(p), "");
  p.d = place(1) + (5 << 21) - 100 * 200 * 2;
  EXPECT_EQ(why(p), "");
  p.d = place(1) + (5 << 21) - 100 * 200 * 2 + 16;
  EXPECT_EQ(why(p), with_b);
  // C
  p = good();
  p.c = {p.d, 200};
  p.beta = 1;
  EXPECT_EQ(why(p), "");
  p.c.stride = 208;
  EXPECT_EQ(why(p), with_c);
  p.c = {place(3) + 200 * 2, 200};
  EXPECT_EQ(why(p), with_c) << "a row further on";
  p.beta = 0;
  EXPECT_EQ(why(p), "") << "C is not read";
  p = good();
  p.batches = 3;
  p.a.batch_stride = 100 * 64;
  p.d_batch_stride = 100 * 200;
  p.c = {p.d, 200, 100 * 200};
  p.beta = 1;
  EXPECT_EQ(why(p), "");
  p.c.batch_stride = 0;
  EXPECT_EQ(why(p), with_c) << "all batches read the first";
}

TEST(GemmChecks, QuantisedProducts) {
  const auto words = reinterpret_cast<const int32_t*>(place(4));
  const auto number = reinterpret_cast<const float*>(place(5));
  Problem good_one = good();
  good_one.type = DType::kI8;
  good_one.output_type = DType::kI8;
  good_one.d_stride = 208;
  good_one.a_zero = good_one.b_zero = good_one.a_sums = good_one.b_sums = words;
  good_one.output_scale = number;
  good_one.output_zero = words;
  good_one.row_amax = reinterpret_cast<float*>(place(6));
  EXPECT_EQ(why(good_one), "");
  Problem p = good_one;
  p.b_sums = nullptr;
  EXPECT_EQ(why(p), "gemm: a_zero is given and b_sums is null: a zero point of one operand is multiplied by the sums of the other");
  p.k = 0;
  EXPECT_EQ(why(p), "") << "nothing to correct";
  p = good_one;
  p.a_sums = nullptr;
  EXPECT_EQ(why(p), "gemm: b_zero is given and a_sums is null: a zero point of one operand is multiplied by the sums of the other");
  p = good_one;
  p.beta = 1;
  EXPECT_EQ(why(p), "gemm: beta = 1, but a result of type I8 takes no C, which would need a scale of its own");
  p = good_one;
  p.a_sums = reinterpret_cast<const int32_t*>(place(4) + 1);
  EXPECT_EQ(why(p), "gemm: a_sums starts 1 bytes after a multiple of 4");
  p = good_one;
  p.d_column_major = true;
  EXPECT_EQ(why(p), "gemm: row_amax is of a D by rows, and D is column-major");
  p.row_amax = nullptr;
  p.d_stride = 112;
  EXPECT_EQ(why(p), "");
  p = good_one;
  p.output_type = DType::kBF16;
  EXPECT_EQ(why(p), "gemm: output_scale and output_zero are for results of I8, not BF16");
  p.output_scale = nullptr;
  p.output_zero = nullptr;
  EXPECT_EQ(why(p), "");
  p.gate = Gate::interleaved;
  EXPECT_EQ(why(p), "gemm: a gated product takes neither zero points, results of I8 nor row_amax");
  p.gate = Gate::none;
  p.beta = 1;
  EXPECT_EQ(why(p), "gemm: row_amax is of a result without C, and beta = 1");
  p = good_one;
  p.output_type = DType::kI32;
  p.output_scale = nullptr;
  p.output_zero = nullptr;
  EXPECT_EQ(why(p), "gemm: a result of type I32 has no row_amax");
  p.row_amax = nullptr;
  EXPECT_EQ(why(p), "");
  p = good();
  p.a_zero = p.b_sums = words;
  EXPECT_EQ(why(p), "gemm: a_zero is given for operands of BF16 and BF16; only I8 has zero points");
}

TEST(GemmChecks, RowSums) {
  int32_t sums = 0;
  const auto said = [](const RowSums& s) { return row_sums(s, nullptr).error().message; };
  const auto matrix = reinterpret_cast<const int8_t*>(place(0) + 3);
  EXPECT_EQ(said({matrix, -1, 4, 1, 4, 0, &sums}), "row sums: rows = -1 is negative");
  EXPECT_EQ(said({matrix, 1, 1 << 25, 1, 4, 0, &sums}), "row sums: K = 33554432 is above 16777216: the sums might not fit 32 bits");
  EXPECT_EQ(said({nullptr, 1, 4, 1, 4, 0, &sums}), "row sums: the matrix is null");
  EXPECT_EQ(said({matrix, 1, 4, 1, 4, 0, nullptr}), "row sums: sums is null");
  EXPECT_TRUE(row_sums({matrix, 0, 4, 1, 4, 0, nullptr}, nullptr)) << "nothing to do, with or without a GPU";
}

TEST(GemmChecks, Plans) {
  Problem p = good();
  ASSERT_TRUE(plan(p, 132));
  EXPECT_EQ(plan(p, 132, TileId::m64_n64)->blocks, 8);  // 2 x 4 tiles of 64 x 64
  EXPECT_EQ(plan(p, 1).error().message, "gemm: 1 multiprocessors, at least 2 are needed");
  EXPECT_EQ(plan(p, 132, TileId::promoted_m128_n192).error().message,
            "gemm: tile promoted_128x192 is not compiled for this product");
  p.m = 16;
  p.n = p.k = 4096;
  p.a.stride = p.b.stride = p.c.stride = p.d_stride = 4096;
  const Plan skinny = *plan(p, 132, TileId::swapped_n16_split);
  EXPECT_EQ(skinny.blocks, 132);
  EXPECT_EQ(skinny.workspace_bytes, 4096 + 132 * 64 * 16 * 4);  // flags and slots
  EXPECT_EQ(plan(p, 132, {}, 0)->workspace_bytes, 0) << "a tile that needs none";
  p.m = p.n = p.k = 8192;
  p.a.stride = p.b.stride = p.c.stride = p.d_stride = 8192;
  EXPECT_EQ(plan(p, 132)->blocks, 132);
  EXPECT_EQ(plan(p, 132)->workspace_bytes, 0);
  p.type = DType::kF8E4M3;
  EXPECT_EQ(plan(p, 133, TileId::promoted_m128_n192)->blocks, 132);
  EXPECT_EQ(plan(p, 132)->tile, TileId::promoted_m128_n192);
  p.fast_accumulation = true;
  EXPECT_NE(plan(p, 132)->tile, TileId::promoted_m128_n192);
  p.m = 0;
  EXPECT_EQ(plan(p, 132)->blocks, 0);
}

TEST(GemmChecks, RunRefusesWhatDoesNotFit) {
  Problem p = good();
  EXPECT_EQ(run(p, Plan{}, nullptr).error().message, "gemm: the plan has 0 blocks; plan() makes one for the problem");
  Plan split = *plan(p, 132, TileId::swapped_n16_split);
  ASSERT_GT(split.workspace_bytes, 0);
  EXPECT_EQ(run(p, split, nullptr).error().message,
            "gemm: workspace is null, " + std::to_string(split.workspace_bytes) + " bytes are needed");
  p.workspace = place(4);
  p.workspace_bytes = 64;
  EXPECT_EQ(run(p, split, nullptr).error().message,
            "gemm: the workspace has 64 bytes, " + std::to_string(split.workspace_bytes) + " are needed");
  p.n = 0;
  EXPECT_TRUE(run(p, nullptr)) << "nothing to do, with or without a GPU";
}

// Every problem that can_run accepts has a tile without workspace.
TEST(GemmChecks, EveryKindHasATileWithoutWorkspace) {
  for (const DType a : {DType::kBF16, DType::kF16, DType::kF32, DType::kI8, DType::kF8E4M3, DType::kF8E5M2})
    for (const DType out : {DType::kBF16, DType::kF16, DType::kF32, DType::kI32, DType::kI8})
      for (int what = 0; what < 16; ++what) {
        Problem p = good();
        p.type = a;
        p.output_type = out;
        p.m = p.n = p.k = 256;
        p.a.stride = p.b.stride = p.c.stride = p.d_stride = 256;
        p.a.column_major = what % 2 != 0;
        p.d_column_major = what / 2 % 2 != 0;
        if (what / 4 % 2 != 0) p.bias = reinterpret_cast<const float*>(place(4));
        if (what / 8 % 2 != 0) p.activation = Activation::silu;
        if (!can_run(p)) continue;
        const auto chosen = plan(p, 132, {}, 0);
        ASSERT_TRUE(chosen) << chosen.error().message;
        EXPECT_EQ(chosen->workspace_bytes, 0);
      }
}

// What a call says on another GPU, and of memory that the GPU does not reach: the rules that device.h applies.
TEST(DeviceRules, CapabilityAndPlace) {
  const auto said = [](const Status& s) { return s ? "" : s.error().message; };
  EXPECT_EQ(said(check_capability("gemm", {0, 9, 0})), "");
  EXPECT_EQ(said(check_capability("gemm", {1, 8, 6})),
            "gemm: device 1 has compute capability 8.6; the kernels need 9.0 (H100, H200)");
  EXPECT_EQ(said(check_capability("gemm", {0, 10, 0})),
            "gemm: device 0 has compute capability 10.0; the kernels need 9.0 (H100, H200)");
  const DeviceFacts own{1, 9, 0}, reads_all{1, 9, 0, true};
  for (const Place place : {Place::device, Place::host, Place::managed})
    EXPECT_EQ(said(check_place("gemm", "A", place, 1, own)), "");
  EXPECT_EQ(said(check_place("gemm", "A", Place::managed, 0, own)), "") << "moves where it is used";
  EXPECT_EQ(said(check_place("gemm", "D", Place::device, 0, own)),
            "gemm: D lies on device 0, but the current device is 1");
  EXPECT_EQ(said(check_place("gemm", "A", Place::unregistered, -2, own)),
            "gemm: A is no memory of a GPU, nor memory of the host that CUDA has allocated or registered");
  EXPECT_EQ(said(check_place("gemm", "A", Place::unregistered, -2, reads_all)), "");
}

}  // namespace
}  // namespace warpfold::kernels::gemm
