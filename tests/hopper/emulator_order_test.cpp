// Who may have seen whose writes: between the blocks of a cluster, between threads and the copy engine,
// between clusters. And waits that never end. Each misuse stands beside the right way, which must not be
// reported.
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "emulator_report.h"
#include "warpfold/hopper/tile.h"

namespace warpfold::hopper {
namespace {

constexpr Launch one{.blocks = 1, .threads = 128, .shared_bytes = 20480};
constexpr Launch pair{.blocks = 2, .threads = 128, .shared_bytes = 20480, .cluster = 2};
constexpr Launch grid{.blocks = 4, .threads = 32, .shared_bytes = 1024};

using Square = TileShape<bf16, 64, 64>;  // 8 KiB

struct Tensor {
  std::vector<bf16> storage = std::vector<bf16>(64 * 64 + 8);
  TensorMap map;
  Tensor() {
    auto* base = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / 2;
    map = *make_tensor_map(base, Square::map(64, 64, 64));
  }
};

// ---- Between blocks of a cluster

enum class Publish { relaxed, release, fence_then_relaxed };

// All threads of rank 0 write; after a block barrier one of them tells rank 1, which reads.
struct TellTheOther {
  Publish how;
  void operator()() const {
    const Barrier told{dynamic_shared() + 1024};
    const uint32_t mine = dynamic_shared() + uint32_t(thread_id()) * 4;
    if (thread_id() == 0) {
      mbarrier_init(told, 1, "told");
      fence_mbarrier_init();
    }
    cluster_sync();
    if (cluster_rank() == 0) {
      store_shared(mine, thread_id());
      block_sync();
      if (thread_id() == 0) {
        if (how == Publish::fence_then_relaxed) fence_cluster();
        if (how == Publish::release)
          mbarrier_arrive_remote<Order::release>(told, 1);
        else
          mbarrier_arrive_remote(told, 1);
      }
    } else {
      mbarrier_wait(told, 0);
      EXPECT_EQ(load_cluster<int>(map_shared(mine, 0)), thread_id());
    }
    cluster_sync();
  }
};

TEST(EmulatorOrder, OneThreadReleasesWhatItsBlockWrote) {
  EXPECT_EQ(find(pair, TellTheOther{Publish::release}), "");
  EXPECT_EQ(find(pair, TellTheOther{Publish::fence_then_relaxed}), "");
  EXPECT_SAYS(find(pair, TellTheOther{Publish::relaxed}), "a relaxed arrival publishes no writes");
}

// The reader frees a buffer by a relaxed arrival, as in a pipeline: it has written nothing.
TEST(EmulatorOrder, RelaxedArrivalOrdersReads) {
  EXPECT_EQ(find(pair,
                 [] {
                   const Barrier empty{dynamic_shared() + 1024};
                   if (thread_id() == 0) {
                     mbarrier_init(empty, 128, "empty");
                     fence_mbarrier_init();
                     store_shared(dynamic_shared(), 1);
                   }
                   cluster_sync();
                   if (cluster_rank() == 0) {
                     load_cluster<int>(map_shared(dynamic_shared(), 1));
                     mbarrier_arrive_remote(empty, 1);
                   } else if (thread_id() == 0) {
                     mbarrier_wait(empty, 0);
                     store_shared(dynamic_shared(), 2);
                   }
                   cluster_sync();
                 }),
            "");
}

TEST(EmulatorOrder, MemoryOfABlockThatHasExited) {
  EXPECT_SAYS(find(pair,
                   [] {
                     if (cluster_rank() == 1) return;
                     for (int i = 0; i < 100; ++i) warp_sync();
                     load_cluster<int>(map_shared(dynamic_shared(), 1));
                   }),
              "load_cluster: the block of rank 1 has exited");
}

TEST(EmulatorOrder, FenceOfAnInitialisationAfterTheBarrier) {
  const Tensor t;
  const auto kernel = [&](bool before) {
    return [&t, before] {
      const Barrier full{dynamic_shared() + 8192};
      if (thread_id() == 0) mbarrier_init(full, 1, "full");
      if (before && thread_id() == 0) fence_mbarrier_init();
      block_sync();
      if (!before && thread_id() == 0) fence_mbarrier_init();
      if (thread_id() == 64) {
        mbarrier_arrive_expect_tx(full, Square::bytes);
        Tile<Square>{dynamic_shared()}.load(t.map, full, 0, 0);
      }
      mbarrier_wait(full, 0);
    };
  };
  EXPECT_EQ(find(one, kernel(true)), "");
  EXPECT_SAYS(find(one, kernel(false)), "not published by fence_mbarrier_init");
}

// The proxy fence publishes an initialisation to the block's own copies, not to other blocks.
TEST(EmulatorOrder, InitialisationPublishedByTheProxyFence) {
  const Tensor t;
  const auto own = [&](bool before) {
    return [&t, before] {
      const Barrier full{dynamic_shared() + 8192};
      if (thread_id() == 0) {
        if (before) fence_async_shared();
        mbarrier_init(full, 1, "full");
        if (!before) fence_async_shared();
      }
      block_sync();
      if (thread_id() == 64) {
        mbarrier_arrive_expect_tx(full, Square::bytes);
        Tile<Square>{dynamic_shared()}.load(t.map, full, 0, 0);
      }
      mbarrier_wait(full, 0);
    };
  };
  EXPECT_EQ(find(one, own(false)), "");
  EXPECT_SAYS(find(one, own(true)), "not published by fence_mbarrier_init (or fence_async_shared)");
  EXPECT_SAYS(find(pair,
                   [] {
                     const Barrier b{dynamic_shared()};
                     if (thread_id() == 0) {
                       mbarrier_init(b, 128, "mine");
                       fence_async_shared();
                     }
                     cluster_sync();
                     mbarrier_arrive_remote(b, 1 - cluster_rank());
                     mbarrier_wait(b, 0);
                     cluster_sync();
                   }),
              "not published by fence_mbarrier_init, followed by a barrier");
}

TEST(EmulatorOrder, MbarrierOverwritten) {
  const std::string text = find(one, [] {
    const Barrier b{dynamic_shared() + 64};
    if (thread_id() == 0) mbarrier_init(b, 1, "full", 3);
    block_sync();
    if (thread_id() < 32) store_shared(dynamic_shared() + uint32_t(thread_id()) * 4, 0);
  });
  EXPECT_SAYS(text, "writes to shared address 1088 of rank 0, where mbarrier full[3] lives");
  // The next 8 bytes are free, and so is the place once the barrier is gone.
  EXPECT_EQ(find(one,
                 [] {
                   const Barrier b{dynamic_shared() + 64};
                   if (thread_id() != 0) return;
                   mbarrier_init(b, 1, "gone");
                   store_shared(dynamic_shared() + 72, uint64_t{0});
                   mbarrier_invalidate(b);
                   store_shared(dynamic_shared() + 64, uint64_t{0});
                 }),
            "");
}

// A unit of 16 bytes that was written whole: reads and writes of different words of it do not conflict.
TEST(EmulatorOrder, WordsOfAUnit) {
  struct Wide {
    uint64_t low, high;
  };
  const auto kernel = [](uint32_t read_at) {
    return [read_at] {
      if (thread_id() == 0) store_shared(dynamic_shared(), Wide{0, 0});
      block_sync();
      if (thread_id() == 1) load_shared<uint32_t>(dynamic_shared() + read_at);
      if (thread_id() == 40) store_shared(dynamic_shared() + 4, 1);
      if (thread_id() == 80) store_shared(dynamic_shared() + 8, uint8_t(1));
    };
  };
  EXPECT_EQ(find(one, kernel(0)), "");
  EXPECT_EQ(find(one, kernel(12)), "");
  EXPECT_SAYS(find(one, kernel(4)), "race on shared memory");
  EXPECT_SAYS(find(one, kernel(8)), "race on shared memory");
}

// ---- Between threads and the engines

// 128 bytes of each thread go out by TMA, which needs the fence before the barrier, not behind it.
struct StoreTile {
  TensorMap map;
  bool fence_before, fence_after;
  const uint8_t* source = nullptr;  // (8192): copied by cp.async instead of written
  void operator()() const {
    const Tile<Square> tile{dynamic_shared()};
    for (uint32_t i = uint32_t(thread_id()); i < 512; i += 128) {
      if (source != nullptr) {
        copy_async<16>(dynamic_shared() + i * 16, source + i * 16);
        continue;
      }
      store_shared(dynamic_shared() + i * 16, uint64_t{0});
      store_shared(dynamic_shared() + i * 16 + 8, uint64_t{0});
    }
    copy_async_commit();
    copy_async_wait<0>();
    if (fence_before) fence_async_shared();
    block_sync();
    if (fence_after) fence_async_shared();
    if (thread_id() != 0) return;
    tile.store(map, 0, 0);
    bulk_commit();
    bulk_wait_read<0>();
  }
};

TEST(EmulatorOrder, FenceBehindTheBarrier) {
  const Tensor t;
  EXPECT_EQ(find(one, StoreTile{t.map, true, false}), "");
  EXPECT_SAYS(find(one, StoreTile{t.map, false, true}), "no fence_async_shared after the write");
}

TEST(EmulatorOrder, CopiedByCpAsyncThenReadByTma) {
  const Tensor t;
  alignas(16) static const uint8_t source[8192] = {};
  EXPECT_EQ(find(one, StoreTile{t.map, true, false, source}), "");
  EXPECT_SAYS(find(one, StoreTile{t.map, false, false, source}), "no fence_async_shared after the write");
}

TEST(EmulatorOrder, CpAsyncNotWaitedFor) {
  alignas(16) static const uint8_t source[16 * 128] = {};
  const auto kernel = [](bool wait) {
    return [wait] {
      const uint32_t mine = dynamic_shared() + uint32_t(thread_id()) * 16;
      copy_async<16>(mine, source + thread_id() * 16);
      copy_async_commit();
      if (wait) copy_async_wait<0>();
      load_shared<uint32_t>(mine);
      copy_async_wait<0>();
    };
  };
  EXPECT_EQ(find(one, kernel(true)), "");
  EXPECT_SAYS(find(one, kernel(false)), "cp.async of block 0");
}

// The thread that copies tells a barrier of it and ends; others wait.
TEST(EmulatorOrder, CpAsyncOfAThreadThatEnds) {
  alignas(16) static const uint8_t source[16 * 128] = {};
  const auto kernel = [](bool wait) {
    return [wait] {
      const Barrier b{dynamic_shared() + 4096};
      if (thread_id() == 0) mbarrier_init(b, 32, "copied");
      block_sync();
      if (warp_id() == 0) {
        copy_async<16>(dynamic_shared() + uint32_t(thread_id()) * 16, source + thread_id() * 16);
        copy_async_arrive(b);
        return;
      }
      if (!wait) return;
      mbarrier_wait(b, 0);
      load_shared<uint32_t>(dynamic_shared() + uint32_t(lane_id()) * 16);
    };
  };
  EXPECT_EQ(find(one, kernel(true)), "");
  EXPECT_SAYS(find(one, kernel(false)), "lands in its block, which has ended");
}

TEST(EmulatorOrder, CpAsyncByMbarrier) {
  alignas(16) static const uint8_t source[16 * 128] = {};
  EXPECT_EQ(find(one,
                 [] {
                   const Barrier b{dynamic_shared() + 4096};
                   if (thread_id() == 0) mbarrier_init(b, 128, "copied");
                   block_sync();
                   copy_async<16>(dynamic_shared() + uint32_t(thread_id()) * 16, source + thread_id() * 16);
                   copy_async_commit();
                   copy_async_arrive(b);
                   mbarrier_wait(b, 0);
                   load_shared<uint32_t>(dynamic_shared() + uint32_t(127 - thread_id()) * 16);
                   copy_async_wait<0>();
                 }),
            "");
}

// f(accumulators) between the product and its wait, by one thread.
template <class Op, class Change>
std::string changed_in_flight(Change change) {
  return find(one, [=] {
    const Tile<Square> a{dynamic_shared()};
    typename Op::Accumulator d[Op::accumulators] = {};
    wgmma_fence();
    wgmma<Op>(d, a.descriptor(), a.descriptor(), false);
    wgmma_commit();
    if (thread_id() == 77) change(d);
    wgmma_wait<0>();
  });
}

TEST(EmulatorOrder, AccumulatorsChangedInFlight) {
  using Op = Wgmma<bf16, bf16, 64>;
  const std::string said = "block 0 warp 2 lane 13 changed accumulator 5 of a WGMMA before wgmma_wait";
  EXPECT_EQ(changed_in_flight<Op>([](float*) {}), "");
  EXPECT_EQ(changed_in_flight<Op>([](float* d) { EXPECT_TRUE(std::isnan(d[5] + 1)); }), "");
  EXPECT_SAYS(changed_in_flight<Op>([](float* d) { d[5] = 0; }), said);
  // Arithmetic in place, as when attention rescales its output too early.
  EXPECT_SAYS(changed_in_flight<Op>([](float* d) { d[5] *= 0.5f; }), said);
  EXPECT_SAYS(changed_in_flight<Op>([](float* d) { d[5] += 1; }), said);
  EXPECT_SAYS(changed_in_flight<Op>([](float* d) { d[5] = -d[5]; }), said);
  EXPECT_SAYS(changed_in_flight<Op>([](float* d) { d[5] = std::fabs(d[5]); }), said);
  EXPECT_SAYS(changed_in_flight<Op>([](float* d) {
                for (int i = 0; i < Op::accumulators; ++i) d[i] *= 0.25f;
              }),
              "block 0 warp 2 lane 13 changed accumulator 0");
  using Integers = Wgmma<int8_t, int8_t, 64>;
  EXPECT_SAYS(changed_in_flight<Integers>([](int32_t* d) { d[5] *= 2; }), said);
  EXPECT_SAYS(changed_in_flight<Integers>([](int32_t* d) { d[5] += 1; }), said);
}

// ---- Global memory between clusters

// Every block writes; the last one to count reads all. Publishing by fence and relaxed atomic.
struct LastBlockSums {
  int* counter;
  int* values;  // (4, 32)
  bool publish, acquire;
  void operator()() const {
    store_global(values + block_id() * 32 + lane_id(), 1);
    if (publish) fence_device();
    warp_sync();
    int before = 0;
    if (lane_id() == 0) before = atomic_add(counter, 1);
    before = shuffle(before, 0);
    if (before != grid_blocks() - 1) return;
    if (acquire) fence_device();
    for (int i = 0; i < grid_blocks(); ++i) load_global(values + i * 32 + lane_id());
    if (lane_id() == 0) store_global(counter, 0);  // ready for the next launch
  }
};

TEST(EmulatorOrder, FencesAroundRelaxedAtomics) {
  const auto text = [](bool publish, bool acquire) {
    std::vector<int> memory(256);
    std::string found;
    for (uint64_t seed = 1; seed <= 20 && found.empty(); ++seed)
      found = report(grid, LastBlockSums{&memory[0], &memory[64], publish, acquire}, seed);
    return found;
  };
  EXPECT_EQ(text(true, true), "");
  EXPECT_SAYS(text(false, true), "race on global memory: the read of 4 bytes");
  EXPECT_SAYS(text(true, false), "race on global memory: the read of 4 bytes");
}

TEST(EmulatorOrder, ReductionsOfBlocksAreNoRace) {
  alignas(16) static float sums[4];
  layout::hardware::TensorMap shape;
  shape.rank = 1;
  shape.size[0] = shape.box[0] = 4;
  shape.element_bytes = 4;
  const TensorMap map = *make_tensor_map(sums, shape);
  const auto kernel = [&](bool all_add) {
    return [&map, all_add] {
      if (lane_id() < 4) store_shared(dynamic_shared() + uint32_t(lane_id()) * 4, 1.0f);
      fence_async_shared();
      warp_sync();
      if (lane_id() != 0) return;
      if (all_add || block_id() != 2)
        tma_reduce_add(map, dynamic_shared(), 0);
      else
        tma_store(map, dynamic_shared(), 0);
      bulk_commit();
      bulk_wait<0>();
    };
  };
  EXPECT_EQ(find(grid, kernel(true), 5), "");
  EXPECT_EQ(std::accumulate(sums, sums + 4, 0.0f), 4 * 4 * 5);
  EXPECT_SAYS(find(grid, kernel(false)), "race on global memory: the TMA ");
}

// A launch that overlaps the one before: a thread reads, or copies in, before or after it has waited.
enum class Ahead { nothing, read, constant, write, tma, tma_store, bulk, small_copy, never };
struct Overlapping {
  Ahead ahead;
  TensorMap map;
  float* memory;
  const float* weights;
  void operator()() const {
    if (thread_id() != 0) return;
    const uint32_t shared = dynamic_shared();
    const Barrier b{shared + 16384};
    mbarrier_init(b, 1, "loaded");
    fence_mbarrier_init();
    if (ahead == Ahead::read) load_global(memory);
    if (ahead == Ahead::constant) load_global(weights);
    if (ahead == Ahead::write) store_global(memory, 1.0f);
    if (ahead == Ahead::tma) tma_load(shared, map, b, 0, 0);
    if (ahead == Ahead::tma_store) tma_store(map, shared, 0, 0);
    if (ahead == Ahead::bulk) bulk_load(shared, memory, 16, b);
    if (ahead == Ahead::small_copy) copy_async<4>(shared, memory);
    if (ahead == Ahead::never) return;
    grid_dependency_wait();
    load_global(memory);
    store_global(memory, 1.0f);
  }
};

TEST(EmulatorOrder, LaunchThatOverlapsTheOneBefore) {
  const Tensor t;
  alignas(16) static float memory[4], weights[4];
  const GlobalBuffer buffers[] = {{t.storage.data(), 64 * 64 * 2 + 16, "X"},
                                  {memory, sizeof memory, "Y"},
                                  {weights, sizeof weights, "W", true}};
  Launch launch = one;
  launch.buffers = buffers;
  launch.overlap_previous = true;
  const auto said = [&](Ahead ahead) { return report(launch, Overlapping{ahead, t.map, memory, weights}); };
  EXPECT_EQ(said(Ahead::nothing), "");
  EXPECT_EQ(said(Ahead::constant), "");
  EXPECT_SAYS(said(Ahead::read),
              "the read at byte 0 of Y by block 0 warp 0 lane 0 comes before its grid_dependency_wait()");
  EXPECT_SAYS(said(Ahead::write), "the write at byte 0 of Y");
  EXPECT_SAYS(said(Ahead::tma), "the TMA load at byte ");
  EXPECT_SAYS(said(Ahead::tma_store), "the TMA store at byte ");
  EXPECT_SAYS(said(Ahead::bulk), "the bulk copy at byte 0 of Y");
  EXPECT_SAYS(said(Ahead::small_copy), "cp.async at byte 0 of Y");
  EXPECT_SAYS(said(Ahead::never), "no thread called grid_dependency_wait()");
  launch.overlap_previous = false;
  EXPECT_EQ(said(Ahead::read), "");
  EXPECT_EQ(said(Ahead::never), "");
}

TEST(EmulatorOrder, GlobalAddresses) {
  alignas(16) static int memory[8];
  const GlobalBuffer buffers[] = {{memory, sizeof(memory), "counts"}};
  const Launch named{.blocks = 1, .threads = 32, .buffers = buffers};
  EXPECT_SAYS(
      find(named,
           [] { load_global(reinterpret_cast<const int*>(reinterpret_cast<const char*>(memory) + 2)); }),
      "load_global: 4 bytes at byte 2 of counts are misaligned");
  EXPECT_SAYS(find(one, [] { store_global<int>(nullptr, 1); }), "store_global: null pointer");
}

// One element past a buffer, by every way to get there.
TEST(EmulatorOrder, GlobalBounds) {
  alignas(128) static int memory[512];
  const GlobalBuffer buffers[] = {{memory, 1024, "A"}, {memory + 384, 128, "B"}, {nullptr, 0, "none"}};
  const Launch launch{.blocks = 1, .threads = 128, .shared_bytes = 4096, .buffers = buffers};
  const auto by_first = [&](auto access) {
    return find(launch, [=] {
      if (thread_id() == 0) access();
    });
  };
  EXPECT_EQ(by_first([] { load_global(memory + 255); }), "");
  EXPECT_EQ(by_first([] { load_global(memory + 384); }), "");
  const std::string past =
      " of 4 bytes at byte 1024 of A by block 0 warp 0 lane 0 reaches outside that buffer, "
      "which has 1024 bytes";
  EXPECT_SAYS(by_first([] { load_global(memory + 256); }), "the read" + past);
  EXPECT_SAYS(by_first([] { store_global(memory + 256, 1); }), "the write" + past);
  EXPECT_SAYS(by_first([] { atomic_add(memory + 256, 1); }), "the atomic" + past);
  EXPECT_SAYS(by_first([] { store_release(memory + 256, 1); }), "the release" + past);
  EXPECT_SAYS(by_first([] { load_acquire(memory + 256); }), "load_acquire" + past);
  EXPECT_SAYS(by_first([] { load_global(memory + 383); }), "the read of 4 bytes at byte -4 of B by");
  EXPECT_SAYS(by_first([] { load_global(reinterpret_cast<const int*>(uintptr_t{1} << 46)); }),
              "reaches outside that buffer");
  EXPECT_SAYS(by_first([] {
                copy_async<16>(dynamic_shared(), memory + 256);
                copy_async_commit();
                copy_async_wait<0>();
              }),
              "cp.async of 16 bytes at byte 1024 of A by block 0 warp 0 lane 0 reaches outside");
  EXPECT_EQ(by_first([] {
              copy_async<16>(dynamic_shared(), memory + 252, 16);
              copy_async_commit();
              copy_async_wait<0>();
            }),
            "");
  const auto bulk = [](uint32_t bytes) {
    return [bytes] {
      const Barrier b{dynamic_shared() + 2048};
      mbarrier_init(b, 1, "b");
      fence_mbarrier_init();
      mbarrier_arrive_expect_tx(b, bytes);
      bulk_load(dynamic_shared(), memory, bytes, b);
      mbarrier_wait(b, 0);
    };
  };
  EXPECT_EQ(by_first(bulk(1024)), "");
  EXPECT_SAYS(by_first(bulk(1040)),
              "the bulk copy of 1040 bytes at byte 0 of A by block 0 warp 0 lane 0 reaches outside");

  // A tensor map that says more than the buffer has: (rows, 32) int32; what lies behind is another buffer.
  const auto tma = [&](int rows, int row, bool store) {
    layout::hardware::TensorMap shape;
    shape.rank = 2;
    shape.element_bytes = 4;
    shape.size[0] = shape.box[0] = shape.stride[1] = 32;
    shape.size[1] = rows;
    shape.box[1] = 8;
    const TensorMap map = *make_tensor_map(memory, shape);
    return by_first([=] {
      const Barrier b{dynamic_shared() + 2048};
      if (store) {
        tma_store(map, dynamic_shared(), 0, row);
        bulk_commit();
        return bulk_wait<0>();
      }
      mbarrier_init(b, 1, "b");
      fence_mbarrier_init();
      mbarrier_arrive_expect_tx(b, 1024);
      tma_load(dynamic_shared(), map, b, 0, row);
      mbarrier_wait(b, 0);
    });
  };
  EXPECT_EQ(tma(8, 4, false), "");
  EXPECT_EQ(tma(8, 4, true), "");
  EXPECT_SAYS(tma(9, 4, false),
              "the TMA load of 128 bytes at byte 1024 of A by block 0 warp 0 lane 0 reaches outside");
  EXPECT_SAYS(tma(16, 12, false),
              "the TMA load of 128 bytes at byte 1536 of A by block 0 warp 0 lane 0 reaches outside");
  EXPECT_SAYS(tma(9, 4, true),
              "the TMA store of 128 bytes at byte 1024 of A by block 0 warp 0 lane 0 reaches outside");
  EXPECT_SAYS(tma(1 << 26, 1 << 25, true), "the TMA store of 128 bytes at byte 4294967296 of A by");
}

// ---- Waits that never end

int flag = 0;
const GlobalBuffer flag_buffer[] = {{&flag, sizeof(flag), "flag"}};

// The report of two blocks, in the second of which lane 3 runs `poll`, with little patience.
template <class Poll>
std::string stuck(Poll poll) {
  flag = 0;
  options().patience = 10000;
  const std::string text =
      report({.blocks = 2, .threads = 32, .shared_bytes = 1024, .buffers = flag_buffer}, [=] {
        if (block_id() == 1 && lane_id() == 3) poll();
      });
  options() = {};
  return text;
}

TEST(EmulatorProgress, FlagThatNobodySets) {
  const std::string text = stuck([] {
    while (load_acquire(&flag) == 0) {
    }
  });
  EXPECT_SAYS(text, "deadlock: threads run on, but nothing has changed for 10000 questions");
  EXPECT_SAYS(text, "block 1: warp 0 (lane 3) waits for another value of byte 0 of flag (by load_acquire");
  EXPECT_SAYS(text, "it is 0");
}

// Atoms that are no questions, repeated for ever.
TEST(EmulatorProgress, PollingByOtherAtoms) {
  const std::string who = "block 1: warp 0 (lane 3) waits for a change, going again and again through ";
  std::string text = stuck([] {
    while (load_global(&flag) == 0) {
    }
  });
  EXPECT_SAYS(text, "deadlock: threads run on, but nothing has changed for 10000 turns");
  EXPECT_SAYS(text, who + "load_global of byte 0 of flag");
  text = stuck([] {
    store_shared(dynamic_shared() + 16, 0);
    while (load_shared<int>(dynamic_shared() + 16) == 0) {
    }
  });
  EXPECT_SAYS(text, who + "load_shared of shared address 1040");
  text = stuck([] {
    while (atomic_add(&flag, 0) == 0) {
    }
  });
  EXPECT_SAYS(text, who + "atomic_add of byte 0 of flag");
  // A question and a store, which might be what another thread waits for.
  text = stuck([] {
    const Barrier b{dynamic_shared()};
    mbarrier_init(b, 1, "never");
    for (int i = 0; !mbarrier_try_wait(b, 0); ++i) store_shared(dynamic_shared() + 16, i);
  });
  EXPECT_SAYS(text,
              "waits for mbarrier never[0], parity 0: it is in phase 0, 1 of 1 arrivals and 0 bytes are");
  EXPECT_SAYS(text, "again and again); it goes through store_shared of shared address 1040");
}

// A whole block that asks in turn, with a barrier in the loop.
TEST(EmulatorProgress, PollingBetweenBarriers) {
  flag = 0;
  options().patience = 10000;
  const std::string text =
      report({.blocks = 1, .threads = 64, .shared_bytes = 1024, .buffers = flag_buffer}, [] {
        for (int seen = 0; seen == 0;) {
          if (thread_id() == 0) store_shared(dynamic_shared(), load_global(&flag));
          block_sync();
          seen = load_shared<int>(dynamic_shared());
          block_sync();
        }
      });
  options() = {};
  EXPECT_SAYS(text, "deadlock: threads run on");
  EXPECT_SAYS(text, "block_sync");
}

// Long work without any synchronisation is no deadlock, as long as it ends.
TEST(EmulatorProgress, LongWork) {
  options().patience = 20000;
  EXPECT_EQ(report({.blocks = 1, .threads = 32, .shared_bytes = 1024},
                   [] {
                     for (int i = 0; i < 5000; ++i)
                       store_shared(dynamic_shared() + uint32_t(lane_id()) * 4, i);
                   }),
            "");
  options() = {};
}

// Blocks that wait for one another: all have to be there, and the emulator runs three clusters at a time.
TEST(EmulatorProgress, GridBarrier) {
  options().patience = 10000;
  const auto barrier = [] {
    if (lane_id() != 0) return;
    atomic_add_release(&flag, 1);
    while (load_acquire(&flag) < grid_blocks()) {
    }
  };
  const Launch five{.blocks = 5, .threads = 32, .buffers = flag_buffer};
  flag = 0;
  EXPECT_SAYS(report(five, barrier),
              "2 of 5 clusters have not begun: options().resident_clusters lets 3 run at once");
  flag = 0;
  options().resident_clusters = 5;
  EXPECT_EQ(report(five, barrier), "");
  options().resident_clusters = 0;
  EXPECT_SAYS(report(five, barrier), "resident_clusters is 0; at least one cluster has to run");
  options() = {};
}

TEST(EmulatorProgress, ExpectTxForgotten) {
  const Tensor t;
  EXPECT_SAYS(find(one,
                   [&] {
                     const Barrier full{dynamic_shared() + 8192};
                     if (thread_id() == 0) {
                       mbarrier_init(full, 2, "full");
                       fence_mbarrier_init();
                       Tile<Square>{dynamic_shared()}.load(t.map, full, 0, 0);
                       mbarrier_arrive(full);
                     }
                     block_sync();
                     mbarrier_wait(full, 0);
                   }),
              "1 of 2 arrivals are missing, and 8192 bytes more have come than were expected");
}

TEST(EmulatorProgress, ExceptionInAKernel) {
  EXPECT_SAYS(find(one,
                   [] {
                     if (thread_id() == 70) throw std::runtime_error("no such tile");
                     block_sync();
                   }),
              "block 0 warp 2 lane 6 threw an exception: no such tile");
  EXPECT_SAYS(find(one, [] { throw 1; }), "threw an exception");
}

#if !defined(__SANITIZE_ADDRESS__)  // which reports overflows itself
[[gnu::noinline]] int recurse(int depth) {
  volatile char frame[1000];
  frame[depth % 1000] = char(depth);
  return depth == 0 ? 0 : recurse(depth - 1) + frame[depth % 1000];
}
TEST(EmulatorProgress, StackOverflow) {
  EXPECT_EQ(find(
                one, [] { recurse(50); }, 5),
            "");
  for (int i = 0; i < 3; ++i)
    EXPECT_SAYS(find(one,
                     [] {
                       block_sync();
                       if (thread_id() == 40) recurse(1000000);
                       block_sync();
                     }),
                "block 0 warp 1 lane 8 has overflown its stack of 128 KiB");
  EXPECT_SAYS(find(one,
                   [] {
                     volatile char large[200 << 10];
                     large[thread_id()] = 1;
                     (void)large[thread_id()];
                   }),
              "has overflown its stack");
}
#endif

// ---- Warps that end early. Barriers of the whole block or cluster do not wait for them.
TEST(EmulatorProgress, WarpsThatEndEarly) {
  EXPECT_EQ(find(one,
                 [] {
                   if (warp_id() == 1) return;
                   for (int i = 0; i < 3; ++i) block_sync();
                 }),
            "");
  // Whether it ends before or after the others have arrived.
  EXPECT_EQ(find(pair,
                 [] {
                   if (warp_id() == 3 && cluster_rank() == 1) return;
                   cluster_sync();
                   if (warp_id() == 2) return;
                   cluster_arrive();
                   if (warp_id() == 1) return;
                   cluster_wait();
                   cluster_sync();
                 }),
            "");
  // A named barrier counts threads.
  EXPECT_SAYS(find(one,
                   [] {
                     if (warp_id() != 1) named_sync(2, 128);
                   }),
              "named barrier 2: 96 of 128 threads have arrived");
  // What a warp wrote before it ended is not published by a barrier at which it never was.
  EXPECT_SAYS(find(one,
                   [] {
                     if (warp_id() == 1) return store_shared(dynamic_shared() + uint32_t(lane_id()) * 4, 1);
                     block_sync();
                     load_shared<int>(dynamic_shared() + uint32_t(lane_id()) * 4);
                   }),
              "race on shared memory");
}

TEST(EmulatorProgress, TryWaitForever) {
  options().patience = 10000;
  const std::string text = report(one, [] {
    const Barrier b{dynamic_shared()};
    if (thread_id() == 0) mbarrier_init(b, 2, "half", 1);
    block_sync();
    if (thread_id() == 0) mbarrier_arrive(b);
    if (warp_id() == 1)
      while (!mbarrier_try_wait(b, 0)) {
      }
  });
  options() = {};
  EXPECT_SAYS(text, "warp 1 waits for mbarrier half[1], parity 0: it is in phase 0, 1 of 2 arrivals");
  EXPECT_SAYS(text, "mbarrier_try_wait, again and again");
}

// A deadlock names the lanes that wait.
TEST(EmulatorProgress, LanesThatWait) {
  EXPECT_SAYS(report(one,
                     [] {
                       const Barrier b{dynamic_shared()};
                       if (thread_id() == 0) mbarrier_init(b, 1, "never");
                       block_sync();
                       if (warp_id() == 2 && (lane_id() < 4 || lane_id() == 9)) mbarrier_wait(b, 0);
                     }),
              "warp 2 (lanes 0-3, 9) waits for mbarrier never[0]");
}

// 384 threads start with 168 registers each. One warpgroup gives 128 x 128 of them back: enough for two to
// rise to 232.
template <int kMore>
void trade_registers() {
  if (warpgroup_id() == 2)
    registers_decrease<40>();
  else
    registers_increase<kMore>();
}
TEST(EmulatorProgress, Registers) {
  const Launch three{.blocks = 1, .threads = 384};
  EXPECT_EQ(find(three, trade_registers<232>), "");
  const std::string text = find(three, trade_registers<240>);
  EXPECT_SAYS(text, "deadlock");
  EXPECT_SAYS(text, "registers_increase<240>: the block has ");
  EXPECT_SAYS(find(three,
                   [] {
                     if (warp_id() == 5) registers_decrease<40>();
                   }),
              "all four warps of a warpgroup have to");
  EXPECT_SAYS(find(three, [] { registers_decrease<240>(); }), "has only 168 registers a lane");
  EXPECT_SAYS(find(three,
                   [] {
                     if (warpgroup_id() == 2) registers_decrease<40>();
                     if (warpgroup_id() == 1) registers_increase<232>();
                     if (warpgroup_id() == 0) registers_increase<24>();
                   }),
              "has 168 registers a lane from the launch; an increase to fewer is undefined");
  EXPECT_SAYS(find(three,
                   [] {
                     registers_decrease<40>();
                     registers_increase<32>();
                   }),
              "registers_increase<32>: block 0 warp");
}

}  // namespace
}  // namespace warpfold::hopper
