// What the emulator reports: for each misuse a small kernel that commits it, and the words that a kernel's
// author needs.
#include "emulator_report.h"

#include <set>

#include "warpfold/hopper/tile.h"

namespace warpfold::hopper {
namespace {

constexpr Launch one{.blocks = 1, .threads = 128, .shared_bytes = 16384};
constexpr Launch pair{.blocks = 2, .threads = 128, .shared_bytes = 16384, .cluster = 2};

using Square = TileShape<bf16, 64, 64>;  // 8 KiB

struct Tensor {
  std::vector<bf16> storage = std::vector<bf16>(128 * 64 + 8);
  TensorMap map;
  Tensor() {
    auto* base = storage.data() + (16 - reinterpret_cast<uintptr_t>(storage.data()) % 16) % 16 / 2;
    map = *make_tensor_map(base, Square::map(64, 64, 64));
  }
};

// One tile by TMA, with a hole for mistakes.
struct LoadOnce {
  const TensorMap& map;
  uint32_t expect = Square::bytes;
  bool wait = true, fence_init = true, sync = true;
  uint32_t parity = 0, arrivals = 1;
  void operator()() const {
    const Barrier full{dynamic_shared() + 8192};
    const Tile<Square> tile{dynamic_shared()};
    if (thread_id() == 0) {
      mbarrier_init(full, arrivals, "full");
      if (fence_init) fence_mbarrier_init();
      mbarrier_arrive_expect_tx(full, expect);
      tile.load(map, full, 0, 0);
    }
    if (sync) block_sync();
    if (wait) mbarrier_wait(full, parity);
    load_shared<uint32_t>(tile.element(thread_id() % 64, 0));
  }
};

TEST(EmulatorReports, NothingOnACorrectKernel) {
  const Tensor t;
  EXPECT_EQ(find(one, LoadOnce{.map = t.map}), "");
}

TEST(EmulatorReports, MissingWait) {
  const Tensor t;
  const std::string text = find(one, LoadOnce{.map = t.map, .wait = false});
  EXPECT_SAYS(text, "race on shared memory");
  EXPECT_SAYS(text, "a write by a tma_load of block 0 warp 0 lane 0");
}

TEST(EmulatorReports, WrongParity) {
  const Tensor t;
  EXPECT_SAYS(find(one, LoadOnce{.map = t.map, .parity = 1}), "race on shared memory");
}

TEST(EmulatorReports, TooManyBytesExpected) {
  const Tensor t;
  const std::string text = find(one, LoadOnce{.map = t.map, .expect = Square::bytes + 16});
  EXPECT_SAYS(text, "deadlock");
  EXPECT_SAYS(text, "wait for mbarrier full[0], parity 0");
  EXPECT_SAYS(text, "16 bytes are missing");
}

TEST(EmulatorReports, TooFewBytesExpected) {
  const Tensor t;
  EXPECT_NE(find(one, LoadOnce{.map = t.map, .expect = Square::bytes - 16}), "");
}

TEST(EmulatorReports, TooManyArrivalsExpected) {
  const Tensor t;
  const std::string text = find(one, LoadOnce{.map = t.map, .arrivals = 2});
  EXPECT_SAYS(text, "1 of 2 arrivals");
}

TEST(EmulatorReports, InitNotPublished) {
  const Tensor t;
  EXPECT_SAYS(find(one, LoadOnce{.map = t.map, .fence_init = false}), "fence_mbarrier_init");
  EXPECT_SAYS(find(one, LoadOnce{.map = t.map, .sync = false}), "mbarrier");
}

TEST(EmulatorReports, TooManyArrivals) {
  EXPECT_SAYS(find(one,
                   [] {
                     const Barrier b{dynamic_shared()};
                     if (thread_id() == 0) mbarrier_init(b, 64, "few");
                     block_sync();
                     mbarrier_arrive(b);
                     mbarrier_arrive(b);
                     mbarrier_arrive(b);
                     block_sync();
                     if (thread_id() == 0) mbarrier_expect_tx(b, 32);
                   }),
              "still expects 32 bytes");
}

TEST(EmulatorReports, MissingProxyFence) {
  Tensor t;
  const auto kernel = [&](bool fence) {
    return [&t, fence] {
      const Tile<Square> tile{dynamic_shared()};
      for (int i = thread_id(); i < 64 * 8; i += 128)
        store_shared(tile.element(i / 8, i % 8 * 8), uint64_t{0});
      for (int i = thread_id(); i < 64 * 8; i += 128)
        store_shared(tile.element(i / 8, i % 8 * 8) + 8, uint64_t{0});
      if (fence) fence_async_shared();
      block_sync();
      if (thread_id() == 0) {
        tile.store(t.map, 0, 0);
        bulk_commit();
        bulk_wait_read<0>();
      }
    };
  };
  EXPECT_EQ(find(one, kernel(true)), "");
  EXPECT_SAYS(find(one, kernel(false)), "no fence_async_shared after the write");
}

TEST(EmulatorReports, StoreNotWaitedFor) {
  Tensor t;
  EXPECT_SAYS(find(one,
                   [&] {
                     if (thread_id() == 0) Tile<Square>{dynamic_shared()}.store(t.map, 0, 0);
                   }),
              "exits without waiting (bulk_wait_read)");
}

TEST(EmulatorReports, RacesBetweenThreads) {
  const auto kernel = [](bool sync) {
    return [sync] {
      store_shared(dynamic_shared() + uint32_t(thread_id()) * 4, thread_id());
      if (sync) block_sync();
      load_shared<int>(dynamic_shared() + uint32_t(127 - thread_id()) * 4);
    };
  };
  EXPECT_EQ(find(one, kernel(true)), "");
  EXPECT_SAYS(find(one, kernel(false)), "race on shared memory: the ");
  // Neighbouring bytes of one word are no race.
  EXPECT_EQ(find(one, [] { store_shared(dynamic_shared() + uint32_t(thread_id()), uint8_t(1)); }), "");
}

TEST(EmulatorReports, DivergenceAtAlignedInstructions) {
  const std::string text = find(one, [] {
    if (lane_id() < 16)
      named_sync(1, 128);
    else
      shuffle(1, 0);
  });
  EXPECT_SAYS(text, "diverge");
  EXPECT_SAYS(text, "named_sync");
  EXPECT_SAYS(text, "shuffle");
  EXPECT_SAYS(find(one,
                   [] {
                     if (thread_id() < 5) block_sync();
                   }),
              "block_sync of the whole warp: 5 of 32 lanes are there");
}

TEST(EmulatorReports, NamedBarriers) {
  EXPECT_SAYS(find(one,
                   [] {
                     if (warp_id() < 2) named_sync(3, 96);
                   }),
              "named barrier 3: 64 of 96 threads have arrived");
  EXPECT_SAYS(find(one, [] { named_sync(3, warp_id() < 2 ? 64 : 128); }), "at once");
  EXPECT_SAYS(find(one, [] { named_sync(16, 128); }), "not in [0, 15]");
  EXPECT_SAYS(find(one, [] { named_sync(1, 100); }), "whole warps");
}

TEST(EmulatorReports, Addresses) {
  EXPECT_SAYS(find(one, [] { load_shared<uint32_t>(dynamic_shared() + 16384); }),
              "outside the block's shared memory");
  EXPECT_SAYS(find(one, [] { load_shared<uint32_t>(dynamic_shared() + 2); }), "misaligned");
  EXPECT_SAYS(find(one,
                   [] {
                     uint32_t r[4];
                     ldmatrix(r, dynamic_shared() + uint32_t(lane_id()) * 8);
                   }),
              "ldmatrix: shared address");
  const Tensor t;
  EXPECT_SAYS(find(one,
                   [&] {
                     const Barrier b{dynamic_shared() + 8192};
                     if (thread_id() == 0) {
                       mbarrier_init(b, 1, "b");
                       fence_mbarrier_init();
                       tma_load(dynamic_shared() + 512, t.map, b, 0, 0);
                     }
                   }),
              "1024");
  EXPECT_SAYS(find(one,
                   [&] {
                     const Barrier b{dynamic_shared() + 8192};
                     if (thread_id() == 0) {
                       mbarrier_init(b, 1, "b");
                       fence_mbarrier_init();
                       tma_load(dynamic_shared(), t.map, b, 4, 0);
                     }
                   }),
              "16");
  Tensor out;
  EXPECT_SAYS(find(one,
                   [&] {
                     if (thread_id() == 0) tma_store(out.map, dynamic_shared(), 0, -1);
                   }),
              "begins before the tensor");
}

TEST(EmulatorReports, BarrierNotThere) {
  EXPECT_SAYS(find(one, [] { mbarrier_wait({dynamic_shared() + 64}, 0); }), "no initialised mbarrier");
}

// ---- WGMMA
using Op = Wgmma<bf16, bf16, 64>;
struct Multiply {
  bool fence = true, wait = true, touch_a = false, from_registers = false, proxy_fence = true;
  int threads = 128;
  void operator()() const {
    const Tile<Square> a{dynamic_shared()}, b{dynamic_shared() + 8192};
    for (uint32_t i = uint32_t(thread_id()); i < 1024; i += 128)
      for (uint32_t h = 0; h < 2; ++h) store_shared(dynamic_shared() + i * 16 + h * 8, uint64_t{0});
    if (proxy_fence) fence_async_shared();
    block_sync();
    float d[Op::accumulators] = {};
    uint32_t fragment[4] = {};
    if (thread_id() < threads) {
      if (fence) wgmma_fence();
      if (from_registers)
        wgmma<Op>(d, fragment, b.descriptor(), false);
      else
        wgmma<Op>(d, a.descriptor(), b.descriptor(), false);
      wgmma_commit();
      if (touch_a) fragment[1] = 1;
      if (wait) wgmma_wait<0>();
    }
  }
};

TEST(EmulatorReports, Products) {
  EXPECT_EQ(find(one, Multiply{}), "");
  EXPECT_EQ(find(one, Multiply{.from_registers = true}), "");
  EXPECT_SAYS(find(one, Multiply{.fence = false}), "without wgmma_fence");
  EXPECT_SAYS(find(one, Multiply{.wait = false}), "exits without waiting for its WGMMAs");
  EXPECT_SAYS(find(one, Multiply{.touch_a = true, .from_registers = true}), "changed a register operand");
  EXPECT_SAYS(find(one, Multiply{.proxy_fence = false}), "no fence_async_shared");
  EXPECT_SAYS(find(one, Multiply{.threads = 96}), "not all warps of the warpgroup have issued");
}

TEST(EmulatorReports, ProductsDiffer) {
  EXPECT_SAYS(find(one,
                   [] {
                     float d[Op::accumulators] = {};
                     wgmma_fence();
                     wgmma<Op>(d, uint64_t(warp_id() == 2 ? 1 : 0), 0, false);
                     wgmma_commit();
                     wgmma_wait<0>();
                   }),
              "issue different WGMMAs");
}

TEST(EmulatorReports, AccumulatorsInFlightAreNaN) {
  float seen = 0;
  EXPECT_EQ(report(one,
                   [&] {
                     const Tile<Square> a{dynamic_shared()};
                     for (uint32_t i = uint32_t(thread_id()); i < 1024; i += 128) {
                       store_shared(dynamic_shared() + i * 16, uint64_t{0});
                       store_shared(dynamic_shared() + i * 16 + 8, uint64_t{0});
                     }
                     fence_async_shared();
                     block_sync();
                     float d[Op::accumulators] = {};
                     wgmma_fence();
                     wgmma<Op>(d, a.descriptor(), a.descriptor(), true);
                     if (thread_id() == 0) seen = d[0];
                     wgmma_commit();
                     wgmma_wait<0>();
                     EXPECT_EQ(d[0], 0);
                   }),
            "");
  EXPECT_TRUE(std::isnan(seen));
}

// ---- Clusters
TEST(EmulatorReports, MulticastWithOneRankMissing) {
  const Tensor t;
  const auto kernel = [&](uint16_t mask) {
    return [&t, mask] {
      const Barrier b{dynamic_shared() + 8192};
      if (thread_id() == 0) {
        mbarrier_init(b, 1, "half each");
        fence_mbarrier_init();
      }
      cluster_sync();
      if (thread_id() == 0) {
        mbarrier_arrive_expect_tx(b, Square::bytes);
        if (cluster_rank() == 0) tma_load_multicast(dynamic_shared(), t.map, b, mask, 0, 0);
      }
      mbarrier_wait(b, 0);
      cluster_sync();
    };
  };
  EXPECT_EQ(find(pair, kernel(3)), "");
  const std::string text = find(pair, kernel(1));
  EXPECT_SAYS(text, "deadlock");
  EXPECT_SAYS(text, "block 1: warp 0, warp 1, warp 2, warp 3 wait for mbarrier half each[0]");
  EXPECT_SAYS(text, "8192 bytes are missing");
  EXPECT_SAYS(find(pair, kernel(7)), "names a block outside the cluster of 2");
  EXPECT_SAYS(find(pair, kernel(0)), "the mask names no block");
}

TEST(EmulatorReports, RemoteBarrierArrivesTooEarly) {
  // Without a cluster barrier after the initialisation.
  EXPECT_SAYS(find(pair,
                   [] {
                     const Barrier b{dynamic_shared()};
                     if (thread_id() == 0) {
                       mbarrier_init(b, 128, "mine");
                       fence_mbarrier_init();
                     }
                     block_sync();
                     mbarrier_arrive_remote(b, 1 - cluster_rank());
                     mbarrier_wait(b, 0);
                   }),
              "mbarrier");
  // At a block that has ended.
  EXPECT_SAYS(find(pair,
                   [] {
                     const Barrier b{dynamic_shared()};
                     if (thread_id() == 0) {
                       mbarrier_init(b, 128, "mine");
                       fence_mbarrier_init();
                     }
                     cluster_sync();
                     if (cluster_rank() == 1) return;
                     for (int i = 0; i < 100; ++i) warp_sync();
                     mbarrier_arrive_remote(b, 1);
                   }),
              "whose block has exited");
}

TEST(EmulatorReports, RelaxedArrivalPublishesNoWrites) {
  const auto kernel = [](bool release) {
    return [release] {
      store_shared(dynamic_shared() + uint32_t(thread_id()) * 4, thread_id());
      if (release)
        cluster_arrive<Order::release>();
      else
        cluster_arrive<Order::relaxed>();
      cluster_wait();
      load_cluster<int>(map_shared(dynamic_shared() + uint32_t(thread_id()) * 4, 1 - cluster_rank()));
      cluster_sync();
    };
  };
  EXPECT_EQ(find(pair, kernel(true)), "");
  EXPECT_SAYS(find(pair, kernel(false)), "a relaxed arrival publishes no writes");
}

TEST(EmulatorReports, WrongClusterSize) {
  EXPECT_SAYS(find({.blocks = 3, .threads = 128, .cluster = 2}, [] {}),
              "3 blocks are no multiple of the cluster of 2");
  EXPECT_SAYS(find(one,
                   [] {
                     const Barrier b{dynamic_shared()};
                     if (thread_id() == 0) mbarrier_init(b, 1, "b");
                     block_sync();
                     mbarrier_arrive_remote(b, 1);
                   }),
              "rank 1 in a cluster of 1 block");
}

// ---- Global memory
TEST(EmulatorReports, RaceBetweenBlocks) {
  std::vector<int> memory(64);
  const GlobalBuffer buffers[] = {{memory.data(), 256, "counters"}};
  const Launch blocks{.blocks = 4, .threads = 32, .buffers = buffers};
  const std::string text = find(blocks, [&] { store_global(&memory[size_t(lane_id())], block_id()); });
  EXPECT_SAYS(text, "race on global memory: the write of 4 bytes at byte ");
  EXPECT_SAYS(text, "of counters by block ");
  EXPECT_SAYS(text, " is not ordered after an access by block ");
  EXPECT_EQ(find(blocks, [&] { store_global(&memory[size_t(block_id() * 16 + lane_id() % 16)], 1); }), "");
  // Ordered by a flag: no race. Without the acquire: a race.
  const auto handover = [&](bool acquire) {
    return [&memory, acquire] {
      if (lane_id() != 0) return;
      if (block_id() == 0) {
        store_global(&memory[0], 5);
        store_release(&memory[32], 1);
      } else if (block_id() == 1) {
        if (acquire)
          while (load_acquire(&memory[32]) == 0) {
          }
        load_global(&memory[0]);
      }
    };
  };
  memory.assign(64, 0);
  EXPECT_EQ(report(blocks, handover(true)), "");
  EXPECT_SAYS(find(blocks, handover(false)), "race on global memory");
}

// ---- Schedules
TEST(EmulatorSchedules, SameSeedSameRun) {
  const auto order = [](uint64_t seed) {
    std::vector<int> seen;
    EXPECT_EQ(report(
                  {.blocks = 3, .threads = 64, .shared_bytes = 1024},
                  [&] {
                    for (int i = 0; i < 20; ++i) {
                      store_shared(dynamic_shared() + uint32_t(thread_id()) * 16, i);
                      seen.push_back(block_id() * 64 + thread_id());
                    }
                  },
                  seed),
              "");
    return seen;
  };
  std::set<std::vector<int>> different;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(order(seed), order(seed));
    different.insert(order(seed));
  }
  EXPECT_EQ(different.size(), 5u);
}

TEST(EmulatorSchedules, SharedMemoryStartsAsNaN) {
  EXPECT_EQ(report(one, [] { EXPECT_TRUE(std::isnan(load_shared<float>(dynamic_shared() + 4))); }), "");
}

}  // namespace
}  // namespace warpfold::hopper
