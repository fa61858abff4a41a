// Bugs that users of other libraries have reported, as small inputs with their right results.
//
//   zero sizes      B2, B3 ZeroK; B4 ZeroSizes; B33 ScaleOfZero
//   epilogue        B6 BetaWithClusters; B13 RowsKeepApart; B40 AllOnes; B15 ScalesOfTheLastRows; B37 StrideZero
//   alignment       B10 ViewsOffTheGrid; B34 OneByteOff; B12 Grouped.ColumnsOffTheGrid
//   split sums      B14 SlicesOfK; B29 ManySteps; B30 Cancellation
//   int8            B16 FewRows; B17 TenOfK; B18 NoOverflowBeforeTheScale; B19 ZeroPoint; (CUTLASS) past 24 bits:
//                   quantised_emulated_test LargeIntegers
//   fp8             B20 OddRows; B26, B31 OneSign
//   32-bit limits   B22, B23, B24, B25, B38 LargeSizes; B25 StrideOfASingleRow
//   groups          B5 EmptyGroups; B8, B9 FewRowsOfManyGroups; B28 TilesOfManyGroups
//   on the device   B21, B22, B23, B38 gemm_device.py --large (check_reports); B35, B36 gemm_device.py check_graph: nothing
//                   is cleared or cached, the workspace is the caller's
//   no such thing   B27: a tile whose boxes do not divide it is a build error (gemm_refused_boxes_test); B32: no e4m3 results
//                   of products; B39: batch stride 0 of D is refused (gemm_checks_test), of A and B StrideZero
//
// Values are chosen so that every sum is exact.
#include "gemm_check.h"
#include "warpfold/kernels/gemm/launch_grouped.h"

namespace warpfold::kernels::gemm {
namespace {

using hopper::bf16;
using hopper::e4m3;
using hopper::f16;

template <class In, class Out, class Tile, Fusion kFusion = Fusion::none>
using Of = Config<In, In, Out, Tile, kFusion>;
constexpr auto nothing = [](Problem&) {};

// D (m, n) of A (i, k) and B (j, k), whose memory is on the grid of TMA; `change` may add to the problem. D was NaN.
template <class Config, class FillA, class FillB, class Change>
std::vector<double> product(int m, int n, int k, FillA fill_a, FillB fill_b, Change change, int blocks = 2) {
  using In = typename Config::ElementA;
  using Out = typename Config::Output;
  Matrix<In> a(1, m, k, 1), b(1, n, k, 1);
  Matrix<Out> d(1, m, n, 1);
  for (int x = 0; x < k; ++x) {
    for (int i = 0; i < m; ++i) a.at(0, i, x) = from_double<In>(fill_a(i, x));
    for (int j = 0; j < n; ++j) b.at(0, j, x) = from_double<In>(fill_b(j, x));
  }
  std::vector<char> space(size_t(flag_bytes) + size_t(blocks * slot_bytes<Config>) + 128);
  Problem p;
  p.type = dtype_of<In>();
  p.output_type = dtype_of<Out>();
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a.operand();
  p.b = b.operand();
  p.d = d.data;
  p.d_stride = d.stride;
  p.workspace = space.data() + (128 - reinterpret_cast<uintptr_t>(space.data()) % 128) % 128;
  p.workspace_bytes = int64_t(space.size()) - 128;
  change(p);
  hopper::emulator::options().seed = 1;
  const Status able = can_run(p);
  EXPECT_TRUE(able) << able.error().message;
  if (!able) return {};
  const Status done = [&] {
    if constexpr (Config::copied) return launch_copied<Config>(p, blocks, nullptr);
    else return launch<Config>(p, blocks, nullptr);
  }();
  EXPECT_TRUE(done) << done.error().message;
  std::vector<double> result;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) result.push_back(to_double(d.at(0, i, j)));
  return result;
}
constexpr auto ones = [](int, int) { return 1.0; };
std::vector<double> all(int count, double value) { return std::vector<double>(size_t(count), value); }

TEST(GemmReports, ZeroK) {
  EXPECT_EQ((product<Of<bf16, bf16, Tile128x128>>(128, 128, 0, ones, ones, nothing)), all(128 * 128, 0));
  Matrix<bf16> c(1, 128, 128, 0);
  for (int i = 0; i < 128; ++i)
    for (int j = 0; j < 128; ++j) c.at(0, i, j) = from_double<bf16>(3);
  const auto with_c = [&](Problem& p) {
    p.c = c.operand();
    p.beta = -2;
    p.a = {nullptr, 0};  // no stride of an operand without elements breaks a rule
    p.b = {nullptr, 256, 0};
  };
  EXPECT_EQ((product<Of<bf16, bf16, Tile128x128>>(128, 128, 0, ones, ones, with_c)), all(128 * 128, -6));
  EXPECT_EQ((product<Of<bf16, bf16, TileSwapped16>>(16, 128, 0, ones, ones, [](Problem& p) { p.a = p.b = {}; })), all(16 * 128, 0));
}
TEST(GemmReports, ZeroSizes) {
  for (const auto& [m, n] : {std::pair(0, 5), std::pair(5, 0), std::pair(0, 0)}) {
    Problem p;
    p.m = m;
    p.n = n;
    p.k = 8;
    EXPECT_TRUE(run(p, nullptr)) << m << " x " << n << ": nothing to do, with or without memory or GPU";
    p.batches = 0;
    EXPECT_TRUE(run(p, nullptr));
  }
}
TEST(GemmReports, ScaleOfZero) {  // of a row that holds only zeros
  const std::vector<float> scale = {1, 0, 2};
  float amax[3] = {};
  const auto d = product<Of<int8_t, int8_t, Tile64x64, Fusion::quantised>>(
      3, 4, 16, [](int i, int) { return i == 1 ? 0.0 : 1.0; }, ones, [&](Problem& p) {
        p.row_scale = scale.data();
        p.row_amax = amax;
      });
  EXPECT_EQ(d, (std::vector<double>{16, 16, 16, 16, 0, 0, 0, 0, 32, 32, 32, 32}));
  EXPECT_EQ(amax[1], 0);
}

TEST(GemmReports, BetaWithClusters) {
  run<Config<e4m3, e4m3, bf16, TilePromoted192, Fusion::linear>>("B6 cluster", {{128, 128, 128, 2, 2, 1}, {256, 128, 128, 2, 2, 1}}, 5);
  run<Of<bf16, bf16, Tile128x128>>("B6 ping-pong", {{128, 128, 64, 1, 2, 1}}, 5);
}
TEST(GemmReports, RowsKeepApart) {  // a tile as wide as 64 in a matrix of 33 columns
  const auto d = product<Of<bf16, bf16, Tile64x64>>(4, 33, 64, [](int i, int) { return double(1 << i); }, ones, nothing);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 33; ++j) ASSERT_EQ(d[size_t(i * 33 + j)], 64 << i);
}
TEST(GemmReports, AllOnes) { EXPECT_EQ((product<Of<bf16, float, Tile128x128>>(128, 256, 64, ones, ones, nothing)), all(128 * 256, 64)); }
TEST(GemmReports, ScalesOfTheLastRows) {  // the emulator reports a scale read past its end
  run<Of<e4m3, bf16, Tile128x128, Fusion::linear>>("B15", {{161, 136, 64, 1, 1, 0, true}}, 5);
}
TEST(GemmReports, StrideZero) {
  run<Of<bf16, bf16, Tile64x64>>("B39 one B", {{40, 40, 64, 1, 1, 0, false, 3, {}, {}, true}}, 3);
  run<Of<int8_t, bf16, Tile64x64, Fusion::linear>>("B37 one scale", {{40, 40, 64, 1, 1, 0, true}}, 3);
}

TEST(GemmReports, ViewsOffTheGrid) {
  using Kernel = Of<bf16, bf16, TileCopied, Fusion::full>;
  const auto number = [](int i, int x) { return double((i * 7 + x * 3) % 5 - 2); };
  std::vector<bf16> storage(64 * 600 + 80);
  const auto d_of = [&](int k, int64_t row_step, int64_t k_step, int start) {
    for (int i = 0; i < 64; ++i)
      for (int x = 0; x < k; ++x) storage[size_t(start + i * row_step + x * k_step)] = from_double<bf16>(number(i, x));
    return product<Kernel>(64, 30, k, number, number, [&](Problem& p) {
      p.a = {storage.data() + start, k_step == 1 ? row_step : k_step, 0, k_step != 1};
      EXPECT_NE(copy_reason(p), "");
    });
  };
  const auto want = [&](int k) {
    std::vector<double> sums;
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 30; ++j) {
        double sum = 0;
        for (int x = 0; x < k; ++x) sum += number(i, x) * number(j, x);
        sums.push_back(to_double(from_double<bf16>(sum)));
      }
    return sums;
  };
  EXPECT_EQ(d_of(64, 65, 1, 0), want(64)) << "rows of 130 bytes";
  EXPECT_EQ(d_of(64, 64, 1, 3), want(64)) << "odd offset";
  EXPECT_EQ(d_of(511, 511, 1, 0), want(511)) << "1022 bytes";
  EXPECT_EQ(d_of(64, 1, 69, 1), want(64)) << "transposed";
}
TEST(GemmReports, OneByteOff) {
  Problem p;
  p.type = DType::kF8E4M3;
  p.m = p.n = p.k = 64;
  p.a = {reinterpret_cast<void*>((uintptr_t{1} << 44) + 1), 64};
  p.b = {reinterpret_cast<void*>(uintptr_t{2} << 44), 64};
  p.d = reinterpret_cast<void*>(uintptr_t{3} << 44);
  p.d_stride = 64;
  EXPECT_TRUE(can_run(p));
  EXPECT_EQ(copy_reason(p), "gemm: A starts 1 bytes after a multiple of 16; TMA needs a multiple of 16");
}

TEST(GemmReports, SlicesOfK) {  // each tile and each slice of K a power of two of its own: a neighbour's would show
  const auto d = product<Of<bf16, float, TileSwapped16>>(
      16, 256, 512, [](int, int x) { return std::ldexp(1.0, x / 64); },
      [](int j, int x) { return x % 64 == 0 ? std::ldexp(1.0, j / 64) : 0; }, nothing, 7);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 256; ++j) ASSERT_EQ(d[size_t(i * 256 + j)], 255 << j / 64) << i << ", " << j;
}
TEST(GemmReports, ManySteps) { run<Of<bf16, bf16, TileSwapped16>>("B29", {{16, 640, 2048, 13}}, 2); }
TEST(GemmReports, Cancellation) {  // half of K sums up to 2^20, the other half to -2^20, and a little more
  const auto d = product<Of<bf16, bf16, TileSwapped16>>(
      1, 64, 1024, [](int, int x) { return x < 512 ? 2048.0 : -2048.0; }, ones, nothing, 5);
  EXPECT_EQ(d, all(64, 0));
  const auto little = product<Of<bf16, bf16, TileSwapped16>>(
      1, 64, 1024, [](int, int x) { return x < 512 ? 2048.0 : -2048.0; }, [](int, int x) { return x == 1022 ? 1 - 0x1p-8 : 1.0; }, nothing, 5);
  EXPECT_EQ(little, all(64, 8)) << "partial sums rounded to bf16 would lose it";
}

TEST(GemmReports, FewRows) {
  for (const int m : {1, 2, 3, 15, 16, 17, 31, 32}) {
    const Case c{m, 17, 16, 2};
    run<Of<int8_t, int32_t, TileSwapped16>>("B16", {c}, 2);
    run<Of<int8_t, int32_t, Tile64x64>>("B16", {c}, 2);
  }
}
TEST(GemmReports, TenOfK) {
  const auto d = product<Of<int8_t, int32_t, Tile64x64>>(40, 50, 10, [](int, int x) { return double(x); }, [](int j, int) { return double(j % 10); }, nothing);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 50; ++j) ASSERT_EQ(d[size_t(i * 50 + j)], 45 * (j % 10));
}
TEST(GemmReports, NoOverflowBeforeTheScale) {  // the sum is 66 million, the result 2016.4
  const float scale = 0x1p-15f;
  const auto full = [](int, int) { return 127.0; };
  const auto d = product<Of<int8_t, f16, Tile64x64, Fusion::linear>>(4, 8, 4096, full, full, [&](Problem& p) {
    p.row_scale = &scale;
    p.one_row_scale = true;
  });
  EXPECT_EQ(d, all(4 * 8, to_double(from_double<f16>(127.0 * 127 * 4096 / 32768))));
}
TEST(GemmReports, ZeroPoint) {  // scale 0.02, zero point 17
  const float scale = 0.02f;
  const int32_t zero = 17;
  std::vector<int32_t> sums(8);
  const auto a = [](int i, int x) { return double((i * 31 + x * 17) % 256 - 128); };
  const auto b = [](int j, int x) { return double((j * 13 + x * 5) % 7 - 3); };
  for (int j = 0; j < 8; ++j)
    for (int x = 0; x < 100; ++x) sums[size_t(j)] += int32_t(b(j, x));
  const auto d = product<Of<int8_t, float, Tile64x64, Fusion::quantised>>(5, 8, 100, a, b, [&](Problem& p) {
    p.a_zero = &zero;
    p.one_a_zero = true;
    p.b_sums = sums.data();
    p.row_scale = &scale;
    p.one_row_scale = true;
  });
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 8; ++j) {
      double want = 0;
      for (int x = 0; x < 100; ++x) want += double(scale) * (a(i, x) - 17) * b(j, x);
      // One product of fp32, of an exact integer.
      ASSERT_LE(std::fabs(d[size_t(i * 8 + j)] - want), std::fabs(want) * 0x1p-23);
    }
}

TEST(GemmReports, OddRows) {
  for (const int m : {1, 2, 3, 5}) run<Of<e4m3, bf16, TilePromoted128, Fusion::linear>>("B20", {{m, 24, 272, 1, 1, 0, true}}, 2);
}
// All terms have one sign, K is large. The products of 128 of K lose at most 2^-13 of the largest term of each instruction,
// 33 terms of it; the rest is summed in fp32 and rounded to bf16: 2^-8.
TEST(GemmReports, OneSign) {
  const auto number = [](int i, int x) { return 1 + (i + x) % 8 * 0.125; };
  const auto d = product<Of<e4m3, bf16, TilePromoted128, Fusion::linear>>(3, 768, 4096, number, number, nothing);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 768; ++j) {
      double want = 0;
      for (int x = 0; x < 4096; ++x) want += number(i, x) * number(j, x);
      ASSERT_LE(std::fabs(d[size_t(i * 768 + j)] - want), want * (4 * 33 * 0x1p-13 + 32 * 0x1p-24 + 0x1p-8));
    }
}

TEST(GemmReports, LargeSizes) {  // what fits 64 bits is accepted, and planned
  const auto accepted = [](int64_t m, int64_t n, int64_t k, int64_t batches) {
    Problem p;
    p.m = m;
    p.n = n;
    p.k = k;
    p.batches = batches;
    p.a = {reinterpret_cast<void*>(uintptr_t{1} << 44), k, m * k};
    p.b = {reinterpret_cast<void*>(uintptr_t{2} << 44), k, n * k};
    p.d = reinterpret_cast<void*>(uintptr_t{3} << 44);
    p.d_stride = n;
    p.d_batch_stride = m * n;
    const auto made = plan(p, 132);
    return made && made->blocks > 0;
  };
  EXPECT_TRUE(accepted(512, 512, 64, 8209)) << "B22: the last batch starts past 2^31";
  EXPECT_TRUE(accepted(46341, 46341, 64, 1)) << "B23: more than 2^31 elements";
  EXPECT_TRUE(accepted(8192, 128, 262144, 1)) << "B24: 2^31 elements of A";
  EXPECT_TRUE(accepted(8, 64, 8, 65537)) << "B38: more batches than a grid has";
}
TEST(GemmReports, StrideOfASingleRow) {
  const auto d = product<Of<bf16, bf16, Tile64x64>>(1, 8, 64, ones, ones, [](Problem& p) {
    p.a.stride = int64_t{1} << 33;
    p.a.batch_stride = int64_t{1} << 33;
    p.d_stride = int64_t{1} << 33;
  });
  EXPECT_EQ(d, all(8, 64));
}

// ---- Groups: row i of A is i % 4, B_g is g + 1, so that D is K * (i % 4) * (g + 1).
void check_groups(int n, int k, const std::vector<int>& first, const std::vector<int>& count, int rows, bool masked, int row_step) {
  using Kernel = Config<bf16, bf16, bf16, Grouped<Tile64x64>>;
  const int groups = int(first.size());
  Matrix<bf16> a(1, rows, k, 0), b(groups, n, k, 0), d(1, rows, n, 0);
  std::vector<int> group(size_t(rows), -1);
  for (int g = 0; g < groups; ++g)
    for (int i = 0; i < count[size_t(g)]; ++i) group[size_t(first[size_t(g)] + i)] = g;
  for (int x = 0; x < k; ++x) {
    for (int i = 0; i < rows; ++i)
      if (group[size_t(i)] >= 0) a.at(0, i, x) = from_double<bf16>(i % 4);
    for (int g = 0; g < groups; ++g)
      for (int j = 0; j < n; ++j) b.at(g, j, x) = from_double<bf16>(g % 8 + 1);
  }
  std::vector<int32_t> starts(first.begin(), first.end()), counts(count.begin(), count.end());
  starts.push_back(first.back() + count.back());
  GroupedProblem p;
  p.rows = rows;
  p.n = n;
  p.k = k;
  p.groups = groups;
  p.a = a.operand();
  p.b = {b.data, b.stride, b.batch_stride()};
  p.d = d.data;
  p.d_stride = d.stride;
  (masked ? p.counts : p.starts) = masked ? counts.data() : starts.data();
  p.row_step = row_step;
  const Status able = can_run(p);
  ASSERT_TRUE(able) << able.error().message;
  hopper::emulator::options().seed = 1;
  ASSERT_TRUE(launch_grouped<Kernel>(p, 3, nullptr));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < d.stride; ++j) {
      const double got = to_double(d.at(0, i, j));
      if (group[size_t(i)] >= 0 && j < n)
        ASSERT_EQ(got, to_double(from_double<bf16>(k * (i % 4) * (group[size_t(i)] % 8 + 1)))) << i << ", " << j;
      else
        ASSERT_NE(got, got) << i << ", " << j << " was written";
    }
}
TEST(GemmReports, EmptyGroups) { check_groups(8, 16, {0, 162, 162, 2739, 3185, 3185}, {162, 0, 2577, 446, 0, 83}, 3300, false, 0); }
TEST(GemmReports, FewRowsOfManyGroups) {
  for (const int most : {8, 16, 32}) check_groups(24, 32, {0, most, 2 * most, 3 * most}, {3, most, 0, 1}, 4 * most, true, most);
  check_groups(24, 32, {0, 20, 40, 60}, {5, -1, 20, -1}, 80, true, 20);  // a count of -1 skips the group
}
TEST(GemmReports, ColumnsOffTheGrid) {
  for (const int n : {130, 132}) check_groups(n, 24, {0, 40}, {40, 30}, 72, false, 0);
}
TEST(GemmReports, TilesOfManyGroups) { check_groups(136, 16, {0, 128, 320}, {128, 192, 100}, 420, false, 0); }

}  // namespace
}  // namespace warpfold::kernels::gemm
