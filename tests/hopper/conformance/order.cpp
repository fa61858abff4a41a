// Cases of what orders accesses rather than makes them: fences, prefetches, dependent launches, barriers that some
// threads have left. Each would mostly give the right words without its atom; that the atom is accepted where it stands
// and does no harm is what is recorded.
#include "harness.h"

namespace conformance {
inline namespace WF_TARGET {
namespace {

constexpr int rows = 16, row_words = 32;  // a box of 2 KiB

warpfold::layout::hardware::TensorMap box_shape() {
  warpfold::layout::hardware::TensorMap m;
  m.rank = 2;
  m.element_bytes = 4;
  m.swizzle = hp::SwizzleMode::b128;
  m.size[0] = m.box[0] = m.stride[1] = row_words;
  m.size[1] = m.box[1] = rows;
  return m;
}
hp::TensorMap map_of(const int32_t* base) {
  const auto map = hp::make_tensor_map(base, box_shape());
  if (!map) throw map.error().message;
  return *map;
}

// Loads the box that `map` has and copies it to `out`. The barrier is at 2048.
WF_ATOM void load_and_dump(const hp::TensorMap& map, uint32_t* out) {
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + 2048};
  if (hp::thread_id() == 0) {
    hp::mbarrier_arrive_expect_tx(b, rows * row_words * 4);
    hp::tma_load(shared, map, b, 0, 0);
  }
  hp::mbarrier_wait(b, 0);
  for (int i = hp::thread_id(); i < rows * row_words; i += 128)
    hp::store_global(out + i, hp::load_shared<uint32_t>(shared + uint32_t(i) * 4));
}
WF_ATOM void init_barrier() {
  if (hp::thread_id() == 0) {
    hp::mbarrier_init({hp::dynamic_shared() + 2048}, 1, "loaded");
    hp::fence_mbarrier_init();
  }
  hp::block_sync();
}

// Threads write global memory, the copy engine reads it.
WF_KERNEL(128)
fence_async_kernel(WF_PARAM hp::TensorMap map, uint32_t* source, uint32_t* out) {
  init_barrier();
  for (int i = hp::thread_id(); i < rows * row_words; i += 128)
    hp::store_global(source + i, noise(uint64_t(i), 21));
  hp::fence_async();
  hp::block_sync();
  load_and_dump(map, out);
}

// The tensor map lies in global memory; box and map are asked for beforehand.
WF_KERNEL(128)
map_in_memory_kernel(const hp::TensorMap* map, uint32_t* out) {
  init_barrier();
  if (hp::thread_id() == 0) {
    hp::fence_tensor_map(map);
    hp::tma_prefetch_map(*map);
    hp::tma_prefetch(*map, 0, 0);
  }
  hp::block_sync();
  load_and_dump(*map, out);
}

// A barrier whose initialisation only the fence of the proxy publishes.
WF_KERNEL(128)
proxy_fence_kernel(WF_PARAM hp::TensorMap map, uint32_t* out) {
  if (hp::thread_id() == 0) {
    hp::mbarrier_init({hp::dynamic_shared() + 2048}, 1, "loaded");
    hp::fence_async_shared();
  }
  hp::block_sync();
  load_and_dump(map, out);
}

// Fences between an ordinary write and the arrival that tells of it, in the block and in the cluster.
WF_KERNEL(128)
fence_kernel(uint32_t* out) {  // (2 ranks, 2, 128)
  const uint32_t shared = hp::dynamic_shared();
  const int t = hp::thread_id(), rank = hp::cluster_rank();
  const hp::Barrier own{shared + 2048}, other{shared + 2056};
  if (t == 0) {
    hp::mbarrier_init(own, 128, "own");
    hp::mbarrier_init(other, 1, "other");
    hp::fence_mbarrier_init();
  }
  hp::cluster_sync();
  hp::store_shared(shared + uint32_t(t) * 4, uint32_t(rank * 1000 + t));
  hp::fence_block();
  hp::mbarrier_arrive(own);
  hp::mbarrier_wait(own, 0);
  hp::store_global(out + (rank * 2) * 128 + t, hp::load_shared<uint32_t>(shared + uint32_t(127 - t) * 4));
  hp::block_sync();
  if (t == 0) {
    hp::fence_cluster();
    hp::mbarrier_arrive_remote(other, 1 - rank);
  }
  hp::mbarrier_wait(other, 0);
  hp::store_global(out + (rank * 2 + 1) * 128 + t,
                   hp::load_cluster<uint32_t>(hp::map_shared(shared + uint32_t(t) * 4, 1 - rank)));
  hp::cluster_sync();
}

// Warps that have ended are not waited for: warp 3 by the block, warps 2 and 3 of rank 1 by the cluster.
WF_KERNEL(128)
ended_kernel(uint32_t* out) {  // (2 ranks, 128)
  const uint32_t shared = hp::dynamic_shared();
  const int t = hp::thread_id(), warp = hp::warp_id(), rank = hp::cluster_rank();
  if (warp == 3) return;
  hp::store_shared(shared + uint32_t(t) * 4, uint32_t(rank * 1000 + t));
  hp::block_sync();
  const uint32_t seen = hp::load_shared<uint32_t>(shared + uint32_t(95 - t) * 4);
  hp::store_global(out + rank * 128 + t, seen);
  if (rank == 1 && warp == 2) return;
  hp::cluster_sync();
  if (rank == 0 && warp == 2) return;
  hp::store_global(out + rank * 128 + t,
                   seen + hp::load_cluster<uint32_t>(hp::map_shared(shared + uint32_t(t) * 4, 1 - rank)));
  hp::cluster_sync();
}

// A warp copies by cp.async, tells a barrier and ends; the others wait for it.
WF_KERNEL(128)
copier_ends_kernel(const uint32_t* source, uint32_t* out) {
  const uint32_t shared = hp::dynamic_shared();
  const hp::Barrier b{shared + 2048};
  if (hp::thread_id() == 0) hp::mbarrier_init(b, 32, "copied");
  hp::block_sync();
  if (hp::warp_id() == 0) {
    for (int i = 0; i < 4; ++i) {
      const int unit = i * 32 + hp::lane_id();
      hp::copy_async<16>(shared + uint32_t(unit) * 16, source + unit * 4);
    }
    hp::copy_async_arrive(b);
    return;
  }
  hp::mbarrier_wait(b, 0);
  for (int i = hp::thread_id() - 32; i < 512; i += 96)
    hp::store_global(out + i, hp::load_shared<uint32_t>(shared + uint32_t(i) * 4));
}

// The second kernel may start before the first has ended, and waits for its results.
WF_KERNEL(128)
first_kernel(uint32_t* out) {
  hp::grid_dependency_wait();
  hp::grid_dependency_launch();
  uint32_t x = noise(uint64_t(hp::block_id() * 128 + hp::thread_id()), 22);
  for (int i = 0; i < 2000; ++i) x = x * 1664525u + 1013904223u;
  hp::store_global(out + hp::block_id() * 128 + hp::thread_id(), x);
}
WF_KERNEL(128)
second_kernel(const uint32_t* in, uint32_t* out) {
  hp::grid_dependency_wait();
  const int i = hp::block_id() * 128 + hp::thread_id(), n = hp::grid_blocks() * 128;
  hp::store_global(out + i, hp::load_global(in + (n - 1 - i)) + uint32_t(i));
}

Words run_dependent_launch() {
  constexpr int blocks = 64;
  Buffer<uint32_t> between(blocks * 128), out(blocks * 128);
  const hp::Launch launch{.blocks = blocks, .threads = 128, .overlap_previous = true};
  require(hp::launch(launch, first_kernel, between.data()));
  require(hp::launch(launch, second_kernel, between.data(), out.data()));
  return out.words();
}

}  // namespace
}  // namespace WF_TARGET

std::vector<Case> order_cases() {
  constexpr size_t words = rows * row_words;
  const hp::Launch one{.blocks = 1, .threads = 128, .shared_bytes = 4096};
  const hp::Launch pair{.blocks = 2, .threads = 128, .shared_bytes = 4096, .cluster = 2};
  const auto value = [](size_t i) { return noise(i, 20); };
  std::vector<Case> list;
  list.push_back({"fence_async between a write to global memory and a TMA load", [=] {
                    Buffer<uint32_t> source(words), out(words);
                    require(hp::launch(one, fence_async_kernel,
                                       map_of(reinterpret_cast<const int32_t*>(source.data())), source.data(),
                                       out.data()));
                    return out.words();
                  }});
  list.push_back({"tensor map in global memory, fenced and prefetched, and its box", [=] {
                    Buffer<uint32_t> source(words, value), out(words);
                    Buffer<hp::TensorMap> map(
                        1, [&](size_t) { return map_of(reinterpret_cast<const int32_t*>(source.data())); });
                    require(hp::launch(one, map_in_memory_kernel, map.data(), out.data()));
                    return out.words();
                  }});
  list.push_back({"mbarrier published by fence_async_shared", [=] {
                    Buffer<uint32_t> source(words, value), out(words);
                    require(hp::launch(one, proxy_fence_kernel,
                                       map_of(reinterpret_cast<const int32_t*>(source.data())), out.data()));
                    return out.words();
                  }});
  list.push_back({"fence_block and fence_cluster", [=] {
                    Buffer<uint32_t> out(4 * 128);
                    require(hp::launch(pair, fence_kernel, out.data()));
                    return out.words();
                  }});
  list.push_back({"barriers of block and cluster after warps have ended", [=] {
                    Buffer<uint32_t> out(2 * 128);
                    require(hp::launch(pair, ended_kernel, out.data()));
                    return out.words();
                  }});
  list.push_back({"cp.async of a warp that ends", [=] {
                    Buffer<uint32_t> source(words, value), out(words);
                    require(hp::launch(one, copier_ends_kernel, source.data(), out.data()));
                    return out.words();
                  }});
  list.push_back({"programmatic dependent launch", run_dependent_launch});
  return list;
}

}  // namespace conformance
