// Who may have seen whose writes: between the blocks of a cluster, between threads and the copy engine,
// between clusters. And waits that never end. Each misuse stands beside the right way, which must not be
// reported.
#include <numeric>
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

TEST(EmulatorOrder, AccumulatorsChangedInFlight) {
  using Op = Wgmma<bf16, bf16, 64>;
  EXPECT_SAYS(find(one,
                   [] {
                     const Tile<Square> a{dynamic_shared()};
                     float d[Op::accumulators] = {};
                     wgmma_fence();
                     wgmma<Op>(d, a.descriptor(), a.descriptor(), false);
                     wgmma_commit();
                     if (thread_id() == 77) d[5] = 0;
                     wgmma_wait<0>();
                   }),
              "block 0 warp 2 lane 13 changed accumulator 5 of a WGMMA before wgmma_wait");
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

TEST(EmulatorOrder, GlobalAddresses) {
  alignas(16) static int memory[8];
  emulator::name_memory(memory, sizeof(memory), "counts");
  EXPECT_SAYS(
      find(one, [] { load_global(reinterpret_cast<const int*>(reinterpret_cast<const char*>(memory) + 2)); }),
      "load_global: 4 bytes at byte 2 of counts are misaligned");
  EXPECT_SAYS(find(one, [] { store_global<int>(nullptr, 1); }), "store_global: null pointer");
}

// ---- Waits that never end

TEST(EmulatorProgress, FlagThatNobodySets) {
  static int flag = 0;
  emulator::name_memory(&flag, sizeof(flag), "flag");
  options().patience = 10000;
  const std::string text = report({.blocks = 2, .threads = 32}, [] {
    if (block_id() == 1 && lane_id() == 3)
      while (load_acquire(&flag) == 0) {
      }
  });
  options() = {};
  EXPECT_SAYS(text, "deadlock");
  EXPECT_SAYS(text, "block 1: warp 0 (lane 3) waits for another value of byte 0 of flag (by load_acquire");
  EXPECT_SAYS(text, "it is 0");
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
}

}  // namespace
}  // namespace warpfold::hopper
