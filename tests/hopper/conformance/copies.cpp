// Cases of the copy engine: TMA loads, stores and reductions of 1 to 5 dimensions with boxes that stick out,
// multicast, bulk copies, cp.async.
#include "harness.h"

namespace conformance {
inline namespace WF_TARGET {
namespace {

using warpfold::layout::hardware::TensorMap;

// Copies `bytes` of shared memory from `shared` to out, word by word.
WF_ATOM void dump(uint32_t* out, uint32_t shared, int bytes) {
  for (int i = hp::thread_id(); i < bytes / 4; i += 128)
    hp::store_global(out + i, hp::load_shared<uint32_t>(shared + uint32_t(i) * 4));
}
WF_ATOM void fill(uint32_t shared, int bytes) {
  for (int i = hp::thread_id(); i < bytes / 4; i += 128)
    hp::store_shared(shared + uint32_t(i) * 4, noise(uint64_t(i), 9));
}

struct At {
  int x[5];
};

template <int kRank>
WF_ATOM void load(uint32_t to, const hp::TensorMap& map, hp::Barrier b, At at) {
  if constexpr (kRank == 1) hp::tma_load(to, map, b, at.x[0]);
  if constexpr (kRank == 2) hp::tma_load(to, map, b, at.x[0], at.x[1]);
  if constexpr (kRank == 3) hp::tma_load(to, map, b, at.x[0], at.x[1], at.x[2]);
  if constexpr (kRank == 4) hp::tma_load(to, map, b, at.x[0], at.x[1], at.x[2], at.x[3]);
  if constexpr (kRank == 5) hp::tma_load(to, map, b, at.x[0], at.x[1], at.x[2], at.x[3], at.x[4]);
}
template <int kRank, bool kAdd>
WF_ATOM void store(const hp::TensorMap& map, uint32_t from, At at) {
  if constexpr (kAdd) {
    if constexpr (kRank == 1) hp::tma_reduce_add(map, from, at.x[0]);
    if constexpr (kRank == 2) hp::tma_reduce_add(map, from, at.x[0], at.x[1]);
    if constexpr (kRank == 3) hp::tma_reduce_add(map, from, at.x[0], at.x[1], at.x[2]);
    if constexpr (kRank == 4) hp::tma_reduce_add(map, from, at.x[0], at.x[1], at.x[2], at.x[3]);
    if constexpr (kRank == 5) hp::tma_reduce_add(map, from, at.x[0], at.x[1], at.x[2], at.x[3], at.x[4]);
  } else {
    if constexpr (kRank == 1) hp::tma_store(map, from, at.x[0]);
    if constexpr (kRank == 2) hp::tma_store(map, from, at.x[0], at.x[1]);
    if constexpr (kRank == 3) hp::tma_store(map, from, at.x[0], at.x[1], at.x[2]);
    if constexpr (kRank == 4) hp::tma_store(map, from, at.x[0], at.x[1], at.x[2], at.x[3]);
    if constexpr (kRank == 5) hp::tma_store(map, from, at.x[0], at.x[1], at.x[2], at.x[3], at.x[4]);
  }
}

template <int kRank>
WF_KERNEL(128)
load_kernel(WF_PARAM hp::TensorMap map, At at, int bytes, uint32_t* out) {
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + uint32_t(bytes)};
  fill(shared, bytes);
  hp::fence_async_shared();
  if (hp::thread_id() == 0) {
    hp::mbarrier_init(b, 1, "loaded");
    hp::fence_mbarrier_init();
  }
  hp::block_sync();
  if (hp::thread_id() == 0) {
    hp::mbarrier_arrive_expect_tx(b, uint32_t(bytes));
    load<kRank>(shared, map, b, at);
  }
  hp::mbarrier_wait(b, 0);
  dump(out, shared, bytes);
}

// Word i of shared memory as a small value of the map's type, so that additions are exact.
template <class T>
WF_ATOM uint32_t small_values(int i) {
  if constexpr (sizeof(T) == 2) {
    const float low = float(noise(uint64_t(i), 5) % 9) - 4, high = float(noise(uint64_t(i), 6) % 9) - 4;
    if constexpr (__is_same(T, hp::bf16))
      return hp::pack_bf16(low, high);
    else
      return hp::pack_f16(low, high);
  } else if constexpr (__is_same(T, float)) {
    const float v = float(noise(uint64_t(i), 5) % 999) - 500;
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return bits;
  } else {
    return noise(uint64_t(i), 5);
  }
}

// A word of ones (5 for int32 and bytes), what stores and reductions find.
template <class T>
constexpr uint32_t ones() {
  if constexpr (__is_same(T, hp::bf16)) return 0x3F803F80;
  else if constexpr (__is_same(T, hp::f16)) return 0x3C003C00;
  else if constexpr (__is_same(T, float)) return 0x3F800000;
  else return 0x05050505;
}

template <class T, int kRank, bool kAdd>
WF_KERNEL(128)
store_kernel(WF_PARAM hp::TensorMap map, At at, int bytes) {
  const uint32_t shared = hp::dynamic_shared();
  for (int i = hp::thread_id(); i < bytes / 4; i += 128)
    hp::store_shared(shared + uint32_t(i) * 4, small_values<T>(i));
  hp::fence_async_shared();
  hp::block_sync();
  if (hp::thread_id() == 0) {
    store<kRank, kAdd>(map, shared, at);
    hp::bulk_commit();
    hp::bulk_wait<0>();
  }
}

// A tensor of up to five dimensions, sizes and box given, strides a little larger than needed.
template <class T, int kRank>
TensorMap tensor(const int (&size)[kRank], const int (&box)[kRank], hp::SwizzleMode swizzle,
                 int64_t& elements) {
  TensorMap m;
  m.rank = kRank;
  m.element_bytes = int(sizeof(T));
  m.swizzle = swizzle;
  elements = (size[0] + 16 / int(sizeof(T)) - 1) / (16 / int(sizeof(T))) * (16 / int(sizeof(T))) +
             16 / int(sizeof(T));
  for (int i = 0; i < kRank; ++i) {
    m.size[i] = size[i];
    m.box[i] = box[i];
    if (i == 0) continue;
    m.stride[i] = elements;
    elements *= size[i];
  }
  return m;
}

template <class T, int kRank>
struct Transfer {
  int size[kRank], box[kRank];
  At at;
  hp::SwizzleMode swizzle = hp::SwizzleMode::none;
};

template <class T, int kRank>
Words run_load(Transfer<T, kRank> t) {
  int64_t elements = 0;
  const TensorMap shape = tensor<T>(t.size, t.box, t.swizzle, elements);
  const int bytes = int(shape.box_bytes());
  // Every fourth word lies half-way between two tf32 values.
  Buffer<uint32_t> source(size_t(elements) * sizeof(T) / 4,
                          [](size_t i) { return i % 4 == 0 ? (noise(i, 3) & ~0x1FFFu) | 0x1000u : noise(i, 3); });
  Buffer<uint32_t> out(size_t(bytes) / 4);
  const auto map = hp::make_tensor_map(reinterpret_cast<const T*>(source.data()), shape);
  if (!map) throw map.error().message;
  require(hp::launch({.blocks = 1, .threads = 128, .shared_bytes = bytes + 16}, load_kernel<kRank>, *map,
                     t.at, bytes, out.data()));
  return out.words();
}

template <class T, int kRank, bool kAdd>
Words run_store(Transfer<T, kRank> t) {
  int64_t elements = 0;
  const TensorMap shape = tensor<T>(t.size, t.box, t.swizzle, elements);
  const int bytes = int(shape.box_bytes());
  Buffer<uint32_t> target(size_t(elements) * sizeof(T) / 4,
                          [](size_t) { return ones<T>(); });
  const auto map = hp::make_tensor_map(reinterpret_cast<const T*>(target.data()), shape);
  if (!map) throw map.error().message;
  require(hp::launch({.blocks = 1, .threads = 128, .shared_bytes = bytes}, store_kernel<T, kRank, kAdd>, *map,
                     t.at, bytes));
  return target.words();
}

// ---- Hints for L2: a box there and back, 16 columns further left.
template <hp::CacheHint kHint>
WF_KERNEL(128)
hint_kernel(WF_PARAM hp::TensorMap map) {
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + 4096};
  if (hp::thread_id() != 0) return;
  hp::mbarrier_init(b, 1, "loaded");
  hp::fence_mbarrier_init();
  hp::mbarrier_arrive_expect_tx(b, 4096);
  hp::tma_load<kHint>(shared, map, b, 32, 7);
  hp::mbarrier_wait(b, 0);
  hp::tma_store<kHint>(map, shared, 16, 7);
  hp::bulk_commit();
  hp::bulk_wait<0>();
}
template <hp::CacheHint kHint>
Words run_hint() {
  int64_t elements = 0;
  const TensorMap shape = tensor<hp::bf16>({100, 50}, {64, 32}, hp::SwizzleMode::b128, elements);
  Buffer<uint32_t> memory(size_t(elements) / 2, [](size_t i) { return noise(i, 4); });
  const auto map = hp::make_tensor_map(reinterpret_cast<const hp::bf16*>(memory.data()), shape);
  if (!map) throw map.error().message;
  require(hp::launch({.blocks = 1, .threads = 128, .shared_bytes = 4096 + 16}, hint_kernel<kHint>, *map));
  return memory.words();
}

// ---- Multicast: rank r of a cluster of two loads its half of the box for both.
WF_KERNEL(128)
multicast_kernel(WF_PARAM hp::TensorMap map, uint32_t* out) {  // (2 ranks, 2 halves, 32 rows, 128 bytes)
  constexpr int half = 32 * 128;
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + 2 * half};
  if (hp::thread_id() == 0) {
    hp::mbarrier_init(b, 1, "both halves");
    hp::fence_mbarrier_init();
  }
  hp::cluster_sync();
  if (hp::thread_id() == 0) {
    hp::mbarrier_arrive_expect_tx(b, 2 * half);
    hp::tma_load_multicast(shared + uint32_t(hp::cluster_rank() * half), map, b, uint16_t(3), 8,
                           hp::cluster_rank() * 32 - 3);
  }
  hp::mbarrier_wait(b, 0);
  dump(out + hp::cluster_rank() * 2 * half / 4, shared, 2 * half);
  hp::cluster_sync();
}
Words run_multicast() {
  int64_t elements = 0;
  const TensorMap shape = tensor<hp::bf16>({100, 70}, {64, 32}, hp::SwizzleMode::b128, elements);
  Buffer<uint32_t> source(size_t(elements) / 2, [](size_t i) { return noise(i, 4); });
  Buffer<uint32_t> out(2 * 2 * 32 * 32);
  const auto map = hp::make_tensor_map(reinterpret_cast<const hp::bf16*>(source.data()), shape);
  if (!map) throw map.error().message;
  require(hp::launch({.blocks = 2, .threads = 128, .shared_bytes = 2 * 32 * 128 + 16, .cluster = 2},
                     multicast_kernel, *map, out.data()));
  return out.words();
}

// In a cluster of four, rank r loads its quarter for those that its mask names: all, itself and the next, itself, all but the
// next. A block expects what comes for it; the rest stays as it was.
WF_KERNEL(128)
multicast_of_four_kernel(WF_PARAM hp::TensorMap map, uint32_t* out) {  // (4 ranks, 4 quarters, 8 rows, 128 bytes)
  constexpr int quarter = 8 * 128;
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + 4 * quarter};
  const int rank = hp::cluster_rank();
  fill(shared, 4 * quarter);
  hp::fence_async_shared();
  if (hp::thread_id() == 0) {
    hp::mbarrier_init(b, 1, "quarters");
    hp::fence_mbarrier_init();
  }
  hp::cluster_sync();
  if (hp::thread_id() == 0) {
    uint32_t count = 0, mine = 0;
    for (int r = 0; r < 4; ++r) {
      const uint32_t mask = r == 0 ? 0b1111u : r == 1 ? 0b0110u : r == 2 ? 0b0100u : 0b1110u;
      count += mask >> rank & 1;
      if (r == rank) mine = mask;
    }
    hp::mbarrier_arrive_expect_tx(b, count * quarter);
    hp::tma_load_multicast(shared + uint32_t(rank * quarter), map, b, uint16_t(mine), 8, rank * 8);
  }
  hp::mbarrier_wait(b, 0);
  dump(out + rank * quarter, shared, 4 * quarter);
  hp::cluster_sync();
}
Words run_multicast_of_four() {
  int64_t elements = 0;
  const TensorMap shape = tensor<hp::bf16>({100, 30}, {64, 8}, hp::SwizzleMode::b128, elements);
  Buffer<uint32_t> source(size_t(elements) / 2, [](size_t i) { return noise(i, 4); });
  Buffer<uint32_t> out(4 * 8 * 128);
  const auto map = hp::make_tensor_map(reinterpret_cast<const hp::bf16*>(source.data()), shape);
  if (!map) throw map.error().message;
  require(hp::launch({.blocks = 4, .threads = 128, .shared_bytes = 4 * 8 * 128 + 16, .cluster = 4},
                     multicast_of_four_kernel, *map, out.data()));
  return out.words();
}

// Two boxes a block, by a map of five dimensions, for both blocks: rank r fetches rows [32 r, 32 r + 32) of
// both columns of 128 bytes on one barrier, as attention does for V. With few rows the boxes of rank 1 lie
// wholly outside.
WF_KERNEL(128)
multicast_5d_kernel(WF_PARAM hp::TensorMap map, int first_row,
                    uint32_t* out) {  // (2 ranks, 2 columns, 64 rows, 128 bytes)
  constexpr int half = 32 * 128, column = 2 * half, all = 2 * column;
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + all};
  fill(shared, all);
  hp::fence_async_shared();
  if (hp::thread_id() == 0) {
    hp::mbarrier_init(b, 1, "four boxes");
    hp::fence_mbarrier_init();
  }
  hp::cluster_sync();
  const int rank = hp::cluster_rank();
  if (hp::thread_id() == 0) {
    hp::mbarrier_arrive_expect_tx(b, all);
    WF_UNROLL
    for (int c = 0; c < 2; ++c)
      hp::tma_load_multicast(shared + uint32_t(c * column + rank * half), map, b, uint16_t(3), c * 64,
                             first_row + rank * 32, 1, 0, 1);
  }
  hp::mbarrier_wait(b, 0);
  dump(out + rank * all / 4, shared, all);
  hp::cluster_sync();
}
Words run_multicast_5d(int rows, int first_row) {
  int64_t elements = 0;
  const TensorMap shape =
      tensor<hp::bf16>({128, rows, 3, 1, 2}, {64, 32, 1, 1, 1}, hp::SwizzleMode::b128, elements);
  Buffer<uint32_t> source(size_t(elements) / 2, [](size_t i) { return noise(i, 4); });
  Buffer<uint32_t> out(2 * 2 * 64 * 32);
  const auto map = hp::make_tensor_map(reinterpret_cast<const hp::bf16*>(source.data()), shape);
  if (!map) throw map.error().message;
  require(hp::launch({.blocks = 2, .threads = 128, .shared_bytes = 4 * 32 * 128 + 16, .cluster = 2},
                     multicast_5d_kernel, *map, first_row, out.data()));
  return out.words();
}

// ---- Bulk copies and cp.async
WF_KERNEL(128)
bulk_kernel(const uint32_t* source, uint32_t* out) {  // 1040 bytes there and back
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + 2048};
  if (hp::thread_id() == 0) {
    hp::mbarrier_init(b, 1, "loaded");
    hp::fence_mbarrier_init();
    hp::mbarrier_expect_tx(b, 1040);
    hp::bulk_load(shared + 16, source + 4, 1040, b);
    hp::mbarrier_arrive(b);
    hp::mbarrier_wait_backoff(b, 0);
    hp::bulk_store(out, shared + 16, 1040);
    hp::bulk_commit();
    hp::bulk_wait_read<0>();
    hp::bulk_wait<0>();
  }
}
Words run_bulk() {
  Buffer<uint32_t> source(512, [](size_t i) { return noise(i, 7); }), out(512);
  require(hp::launch({.blocks = 1, .threads = 128, .shared_bytes = 4096}, bulk_kernel, source.data(),
                     out.data()));
  return out.words();
}

WF_KERNEL(128)
copy_async_kernel(const uint32_t* source, uint32_t* out) {
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + 8192};
  const int t = hp::thread_id();
  fill(shared, 8192);
  if (t == 0) hp::mbarrier_init(b, 128, "landed");
  hp::block_sync();
  hp::copy_async<16>(shared + uint32_t(t) * 16, source + t * 4, t % 17);
  hp::copy_async_commit();
  hp::copy_async<8>(shared + 2048 + uint32_t(t) * 8, source + t * 2, t % 9);
  hp::copy_async_commit();
  hp::copy_async_wait<1>();
  hp::copy_async<4>(shared + 4096 + uint32_t(t) * 4, source + t, t % 5);
  hp::copy_async_arrive(b);
  hp::mbarrier_wait(b, 0);
  hp::copy_async_commit();
  hp::copy_async_wait<0>();
  hp::block_sync();
  dump(out, shared, 8192);
}
Words run_copy_async() {
  Buffer<uint32_t> source(1024, [](size_t i) { return noise(i, 8); }), out(2048);
  require(hp::launch({.blocks = 1, .threads = 128, .shared_bytes = 8192 + 16}, copy_async_kernel,
                     source.data(), out.data()));
  return out.words();
}

template <class T, int kRank>
void add_load(std::vector<Case>& list, const char* name, Transfer<T, kRank> t) {
  list.push_back({std::string("load ") + name, [t] { return run_load<T, kRank>(t); }});
}
template <class T, int kRank>
void add_store(std::vector<Case>& list, const char* name, Transfer<T, kRank> t) {
  list.push_back({std::string("store ") + name, [t] { return run_store<T, kRank, false>(t); }});
}
template <class T, int kRank>
void add_reduce(std::vector<Case>& list, const char* name, Transfer<T, kRank> t) {
  list.push_back({std::string("reduce-add ") + name, [t] { return run_store<T, kRank, true>(t); }});
}

}  // namespace
}  // namespace WF_TARGET

std::vector<Case> copy_cases() {
  using hp::SwizzleMode;
  std::vector<Case> list;
  // Loads: inside, sticking out before and after, widths that are no multiple of 16 bytes.
  add_load<uint8_t, 1>(list, "1D u8", {{100}, {64}, {{48}}});
  add_load<hp::bf16, 2>(list, "2D bf16 swizzle 128", {{200, 50}, {64, 40}, {{8, -5}}, SwizzleMode::b128});
  add_load<hp::bf16, 2>(list, "2D bf16 swizzle 64, before column 0",
                        {{200, 50}, {32, 40}, {{-8, 30}}, SwizzleMode::b64});
  add_load<hp::bf16, 2>(list, "2D bf16 swizzle 32, past the last column",
                        {{93, 50}, {16, 40}, {{80, 30}}, SwizzleMode::b32});
  add_load<hp::bf16, 2>(list, "2D bf16, 13 columns", {{13, 20}, {32, 20}, {{0, 0}}});
  add_load<hp::bf16, 2>(list, "2D bf16, 1 column", {{1, 20}, {64, 8}, {{0, 4}}, SwizzleMode::b128});
  add_load<uint8_t, 2>(list, "2D u8, 37 columns", {{37, 20}, {128, 16}, {{0, 0}}, SwizzleMode::b128});
  add_load<float, 3>(list, "3D f32 swizzle 128", {{70, 11, 9}, {32, 5, 4}, {{40, 8, 7}}, SwizzleMode::b128});
  add_load<hp::f16, 4>(list, "4D f16", {{40, 7, 6, 5}, {16, 3, 4, 3}, {{-8, 5, -2, 3}}});
  add_load<int32_t, 5>(list, "5D s32", {{20, 5, 4, 3, 3}, {8, 3, 2, 2, 3}, {{16, -1, 3, 2, -1}}});
  add_load<hp::tf32, 2>(list, "2D tf32", {{30, 20}, {32, 16}, {{4, 8}}, SwizzleMode::b128});
  // Stores: past the end, and clipping inside 16 bytes. One that begins before the tensor is an illegal instruction.
  add_store<uint8_t, 1>(list, "1D u8", {{100}, {64}, {{48}}});
  add_store<hp::bf16, 2>(list, "2D bf16 swizzle 128", {{200, 50}, {64, 40}, {{8, 25}}, SwizzleMode::b128});
  add_store<hp::bf16, 2>(list, "2D bf16, 13 columns", {{13, 20}, {32, 20}, {{0, 0}}});
  add_store<hp::bf16, 2>(list, "2D bf16 swizzle 32, 21 columns",
                         {{21, 20}, {16, 20}, {{8, 3}}, SwizzleMode::b32});
  add_store<uint8_t, 2>(list, "2D u8, 37 columns", {{37, 20}, {64, 16}, {{16, 0}}, SwizzleMode::b64});
  add_store<float, 3>(list, "3D f32", {{71, 11, 9}, {32, 5, 4}, {{40, 8, 7}}, SwizzleMode::b128});
  add_store<hp::f16, 4>(list, "4D f16", {{40, 7, 6, 5}, {16, 3, 4, 3}, {{32, 5, 4, 3}}});
  add_store<int32_t, 5>(list, "5D s32", {{20, 5, 4, 3, 3}, {8, 3, 2, 2, 3}, {{16, 4, 3, 2, 1}}});
  add_reduce<float, 1>(list, "1D f32", {{50}, {32}, {{24}}});
  add_reduce<float, 2>(list, "2D f32 swizzle 128", {{50, 20}, {32, 16}, {{24, 10}}, SwizzleMode::b128});
  add_reduce<int32_t, 2>(list, "2D s32", {{50, 20}, {32, 16}, {{24, 10}}});
  add_reduce<hp::bf16, 3>(list, "3D bf16", {{50, 9, 5}, {16, 4, 3}, {{40, 7, 3}}});
  add_reduce<hp::f16, 2>(list, "2D f16", {{50, 20}, {32, 16}, {{24, 10}}});
  add_reduce<hp::f16, 4>(list, "4D f16", {{40, 7, 6, 5}, {16, 3, 4, 3}, {{32, 5, 4, 3}}});
  add_reduce<float, 5>(list, "5D f32", {{20, 5, 4, 3, 3}, {8, 3, 2, 2, 3}, {{16, 4, 3, 2, 1}}});
  add_reduce<hp::bf16, 5>(list, "5D bf16", {{40, 5, 4, 3, 3}, {16, 3, 2, 2, 3}, {{32, 4, 3, 2, 1}}});
  list.push_back({"load and store, L2 hint evict_normal", run_hint<hp::CacheHint::evict_normal>});
  list.push_back({"load and store, L2 hint evict_first", run_hint<hp::CacheHint::evict_first>});
  list.push_back({"load and store, L2 hint evict_last", run_hint<hp::CacheHint::evict_last>});
  list.push_back({"multicast 4 blocks, to some of them", run_multicast_of_four});
  list.push_back({"multicast 2 blocks", run_multicast});
  list.push_back({"multicast 2 blocks, 5D, two boxes", [] { return run_multicast_5d(100, 10); }});
  list.push_back({"multicast 2 blocks, 5D, past the last row", [] { return run_multicast_5d(70, 20); }});
  list.push_back({"multicast 2 blocks, 5D, one row", [] { return run_multicast_5d(1, 0); }});
  list.push_back({"bulk load and store", run_bulk});
  list.push_back({"cp.async of 4, 8, 16 bytes", run_copy_async});
  return list;
}

}  // namespace conformance
