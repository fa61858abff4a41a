// Cases of the atoms that threads use on registers, shared memory and one another.
#include "harness.h"

namespace conformance {
inline namespace WF_TARGET {
namespace {

WF_ATOM void put(uint32_t* out, int slot, uint32_t value) {
  hp::store_global(out + slot * int(128) + hp::thread_id(), value);
}
template <class T>
WF_ATOM uint32_t bits_of(T v) {
  uint32_t b = 0;
  memcpy(&b, &v, sizeof(T));
  return b;
}

WF_KERNEL(128)
identity_kernel(uint32_t* out) {
  out += hp::block_id() * 128 * 12;
  put(out, 0, uint32_t(hp::thread_id()));
  put(out, 1, uint32_t(hp::lane_id()));
  put(out, 2, uint32_t(hp::warp_id()));
  put(out, 3, uint32_t(hp::warpgroup_id()));
  put(out, 4, uint32_t(hp::block_id()));
  put(out, 5, uint32_t(hp::grid_blocks()));
  put(out, 6, uint32_t(hp::cluster_rank()));
  put(out, 7, uint32_t(hp::cluster_blocks()));
  const uint32_t elected = hp::warp_ballot(hp::elect_one()), again = hp::warp_ballot(hp::elect_one());
  put(out, 8, elected != 0 && (elected & (elected - 1)) == 0 ? 1 : 0);
  put(out, 9, elected == again ? 1 : 0);
  put(out, 10, hp::dynamic_shared() % 1024);
  hp::grid_dependency_wait();
  hp::grid_dependency_launch();
  put(out, 11, 0);
}

WF_KERNEL(128)
warp_kernel(uint32_t* out) {
  const int t = hp::thread_id();
  const uint32_t v = noise(uint64_t(t), 1);
  put(out, 0, hp::shuffle(v, (t * 7) % 32));
  put(out, 1, hp::shuffle(v, 35));
  put(out, 2, hp::shuffle_xor(v, 5));
  put(out, 3, hp::shuffle_xor(v, 16));
  put(out, 4, hp::shuffle_up(v, 3));
  put(out, 5, hp::shuffle_down(v, 7));
  put(out, 6, bits_of(hp::shuffle_xor(float(t), 1)));
  put(out, 7, hp::warp_ballot(v % 3 == 0));
  put(out, 8, hp::warp_any(t == 40) ? 1 : 0);
  put(out, 9, hp::warp_all(t < 64) ? 1 : 0);
  put(out, 10, hp::byte_permute(v, noise(uint64_t(t), 2), 0x5140));
  put(out, 11, hp::byte_permute(v, noise(uint64_t(t), 2), noise(uint64_t(t), 3)));
}

// Conversions of special and random values. out: (slot, 128)
WF_ATOM float test_float(int i) {
  constexpr uint32_t special[] = {0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF,
                                  0x00000001, 0x3F800000, 0x477FE000, 0x477FF000, 0x477FEFFF, 0x33000000,
                                  0x33000001, 0x387FE000, 0x38800000, 0x3F808000, 0x3F818000, 0x387FF000,
                                  0x7F7F8000, 0x33800000, 0xB3C00000, 0x38001000};
  const uint32_t bits = i < int(sizeof(special) / 4) ? special[i]
                        : i < 64                     ? noise(uint64_t(i), 1)
                                                     : 0x30000000u + noise(uint64_t(i), 1) % 0x18000000u;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
WF_KERNEL(128)
conversion_kernel(uint32_t* out) {
  const int t = hp::thread_id();
  put(out, 0, hp::to_bf16(test_float(t)).bits);
  put(out, 1, hp::to_f16(test_float(t)).bits);
  put(out, 2, hp::pack_bf16(test_float(t), test_float(127 - t)));
  put(out, 3, hp::pack_f16(test_float(t), test_float(127 - t)));
  for (int i = 0; i < 2; ++i) {
    put(out, 4 + i, bits_of(hp::to_float(hp::e4m3{uint8_t(t + 128 * i)})));
    put(out, 6 + i,
        bits_of(hp::to_float(hp::e5m2{uint8_t(t + 128 * i)})) & ((t & 0x7F) > 0x7C ? 0x7F800000u : ~0u));
  }
  put(out, 8, bits_of(hp::to_float(hp::bf16{uint16_t(noise(uint64_t(t), 4))})));
  put(out, 9, bits_of(hp::to_float(hp::f16{uint16_t(noise(uint64_t(t), 5) & 0x83FF)})));
  put(out, 10, bits_of(hp::to_float(hp::f16{uint16_t(noise(uint64_t(t), 6) & 0xBFFF)})));
  put(out, 11, bits_of(hp::exp2_approx(float(t - 64))));  // powers of two are exact
}
// Rounding to e4m3: what lies at, just below and above the middle between neighbours, subnormals, what
// saturates, NaN.
WF_KERNEL(128)
e4m3_kernel(uint32_t* out) {
  const int t = hp::thread_id();
  const float x = hp::to_float(hp::e4m3{uint8_t(t)}),
              next = hp::to_float(hp::e4m3{uint8_t(t < 126 ? t + 1 : t)});
  const float middle = (x + next) / 2;
  put(out, 0, hp::pack_e4m3(x, -x));
  put(out, 1, hp::pack_e4m3(middle, -middle));
  put(out, 2, hp::pack_e4m3(middle * (1 - 0x1p-20f), middle * (1 + 0x1p-20f)));
  put(out, 3, hp::pack_e4m3(test_float(t), test_float(127 - t)));
}
// Sums of pairs, with infinities, NaNs, cancellation and subnormals; bits chosen by a mask. out: (slot, 128)
WF_KERNEL(128)
pair_kernel(uint32_t* out) {
  const int t = hp::thread_id();
  const uint32_t v = hp::pack_bf16(test_float(t), test_float(127 - t));
  put(out, 0, hp::add_bf16x2(v, hp::pack_bf16(test_float((t + 37) % 128), test_float(t / 2))));
  put(out, 1, hp::add_bf16x2(v, v ^ 0x80008001));
  put(out, 2, hp::add_bf16x2(noise(uint64_t(t), 3) & 0x81FF81FF, noise(uint64_t(t), 4) & 0x81FF81FF));
  put(out, 3, hp::select_bits(noise(uint64_t(t), 5), 0x000F000F, 0x43004300));
}

// Where the approximate quotient is exact: by powers of two, and 0 by more than 2^126.
WF_KERNEL(128)
division_kernel(uint32_t* out) {
  const int t = hp::thread_id();
  const uint32_t power = uint32_t(t - 63 + 127) << 23, large = 0x7E800001u + uint32_t(t);
  float by, too_large;
  memcpy(&by, &power, 4);
  memcpy(&too_large, &large, 4);
  put(out, 0, bits_of(hp::divide_approx(float(t * 3 - 100), by)));
  put(out, 1, bits_of(hp::divide_approx(float(t + 1), too_large)));
}

// Products and sums rounded once: special and random values, and where the product's lowest bits are all that is left. NaNs
// count as one. Registers made anew keep their values. out: (slot, 128)
WF_KERNEL(128)
multiply_add_kernel(uint32_t* out) {
  const int t = hp::thread_id();
  const auto number = [](float x) { return x != x ? 0x7FC00000u : bits_of(x); };
  put(out, 0, number(hp::multiply_add(test_float(t), test_float(127 - t), test_float((t + 37) % 128))));
  put(out, 1, number(hp::multiply_add(test_float(t), test_float(t), test_float(t / 2))));
  const float small = float(t) * 0x1p-23f;
  put(out, 2, number(hp::multiply_add(1 + small, 1 - small, -1.0f)));  // -(t 2^-23)^2
  uint32_t registers[2][3];
  for (int i = 0; i < 6; ++i) registers[i / 3][i % 3] = noise(uint64_t(t), uint64_t(i));
  hp::define_again(registers);
  for (int i = 0; i < 6; ++i) put(out, 3 + i, registers[i / 3][i % 3]);
}

template <bool kTranspose>
WF_KERNEL(128)
matrix_kernel(uint32_t* out) {
  const int t = hp::thread_id(), lane = hp::lane_id();
  const uint32_t shared = hp::dynamic_shared() + uint32_t(hp::warp_id()) * 1024;
  for (int i = 0; i < 8; ++i)
    hp::store_shared(shared + uint32_t(lane * 32 + i * 4), noise(uint64_t(t * 8 + i), 1));
  hp::warp_sync();
  const uint32_t row = shared + uint32_t((lane * 5 % 32) * 32 + lane % 2 * 16);
  uint32_t r1[1], r2[2], r4[4];
  hp::ldmatrix<1, kTranspose>(r1, row);
  hp::ldmatrix<2, kTranspose>(r2, row);
  hp::ldmatrix<4, kTranspose>(r4, row);
  put(out, 0, r1[0]);
  for (int i = 0; i < 2; ++i) put(out, 1 + i, r2[i]);
  for (int i = 0; i < 4; ++i) put(out, 3 + i, r4[i]);
  hp::warp_sync();
  hp::stmatrix<4, kTranspose>(shared + uint32_t((lane * 3 % 32) * 32), r4);
  hp::warp_sync();
  for (int i = 0; i < 4; ++i)
    put(out, 7 + i, hp::load_shared<uint32_t>(shared + uint32_t(lane * 32 + i * 4)));
  hp::warp_sync();
  hp::stmatrix<1, kTranspose>(shared + uint32_t((lane % 8) * 32 + 16), r1);
  hp::stmatrix<2, kTranspose>(shared + uint32_t((lane % 16 + 8) * 32 + 16), r2);
  hp::warp_sync();
  for (int i = 0; i < 4; ++i)
    put(out, 11 + i, hp::load_shared<uint32_t>(shared + uint32_t(lane * 32 + 16 + i * 4)));
  put(out, 15, 0);
}

struct Wide {
  uint32_t word[4];
};
WF_KERNEL(128)
shared_kernel(uint32_t* out) {
  const int t = hp::thread_id();
  const uint32_t shared = hp::dynamic_shared();
  hp::store_shared(shared + uint32_t(t) * 16, Wide{{uint32_t(t), 1, 2, 3}});
  hp::store_shared(shared + uint32_t(t) * 16 + 4, uint16_t(t * 3));
  hp::store_shared(shared + uint32_t(t) * 16 + 9, uint8_t(t * 5));
  hp::block_sync();
  const uint32_t other = shared + uint32_t(127 - t) * 16;
  const Wide w = hp::load_shared<Wide>(other);
  for (int i = 0; i < 4; ++i) put(out, i, w.word[i]);
  put(out, 4, hp::load_shared<uint8_t>(other + 9));
  put(out, 5, hp::load_shared<uint16_t>(other + 4));
  put(out, 6, uint32_t(hp::load_shared<uint64_t>(other + 8) >> 32));
}

// Parity and phases of an mbarrier of 2 arrivals, seen by one thread.
WF_KERNEL(128)
mbarrier_kernel(uint32_t* out) {
  const hp::Barrier b{hp::dynamic_shared()}, c{hp::dynamic_shared() + 8};
  if (hp::thread_id() == 0) {
    hp::mbarrier_init(b, 2, "two");
    hp::mbarrier_init(c, 128, "all");
    hp::fence_mbarrier_init();
  }
  hp::block_sync();
  if (hp::thread_id() == 0) {
    int at = 0;
    const auto see = [&](uint32_t v) { hp::store_global(out + at++, v); };
    const auto both = [&] {
      see(hp::mbarrier_try_wait(b, 0) ? 1 : 0);
      see(hp::mbarrier_try_wait(b, 1) ? 1 : 0);
    };
    both();
    hp::mbarrier_arrive(b);
    both();
    hp::mbarrier_arrive(b);
    both();
    hp::mbarrier_arrive(b);
    hp::mbarrier_arrive(b);
    both();
    hp::mbarrier_invalidate(b);
    hp::mbarrier_init(b, 1, "again");
    both();
    hp::mbarrier_arrive_expect_tx(b, 0);
    both();
  }
  hp::mbarrier_arrive(c);
  hp::mbarrier_wait(c, 0);
  hp::mbarrier_arrive(c);
  hp::mbarrier_wait_backoff(c, 1);
  hp::store_global(out + 128 + hp::thread_id(), uint32_t(hp::mbarrier_try_wait(c, 0) ? 0 : 1));
}

// Warps hand a token round by named barriers; warpgroups change their registers.
WF_KERNEL(256)
barrier_kernel(uint32_t* out) {
  const uint32_t shared = hp::dynamic_shared();
  const int wg = hp::warpgroup_id(), t = hp::thread_id();
  if (wg == 0) {
    hp::registers_decrease<40>();
    hp::store_shared(shared + uint32_t(t) * 4, uint32_t(t * 11));
    hp::named_arrive(1, 256);
    hp::named_sync(2, 256);
    hp::store_global(out + t, hp::load_shared<uint32_t>(shared + 1024 + uint32_t(127 - t) * 4));
  } else {
    hp::registers_increase<160>();
    hp::named_sync(1, 256);
    const uint32_t v = hp::load_shared<uint32_t>(shared + uint32_t(255 - t) * 4);
    hp::store_shared(shared + 1024 + uint32_t(t - 128) * 4, v + 1);
    hp::named_arrive(2, 256);
    hp::store_global(out + t, v);
  }
}

// Blocks of a cluster read and write each other's memory and arrive at each other's barriers.
WF_KERNEL(128)
cluster_kernel(uint32_t* out) {
  const uint32_t shared = hp::dynamic_shared();
  const int rank = hp::cluster_rank(), next = (rank + 1) % hp::cluster_blocks(), t = hp::thread_id();
  // A barrier each: the block before may be two arrivals ahead, and one barrier's parity would not tell.
  const hp::Barrier b{shared + 4096}, c{shared + 4104};
  if (t == 0) {
    hp::mbarrier_init(b, 128, "relaxed");
    hp::mbarrier_init(c, 128, "release");
    hp::fence_mbarrier_init();
  }
  hp::store_shared(shared + uint32_t(t) * 4, uint32_t(rank * 1000 + t));
  hp::cluster_sync();
  const uint32_t seen = hp::load_cluster<uint32_t>(hp::map_shared(shared + uint32_t(t) * 4, next));
  hp::store_cluster(hp::map_shared(shared + 1024 + uint32_t(t) * 4, next), seen * 2);
  hp::cluster_arrive();
  hp::cluster_wait();
  const uint32_t got = hp::load_shared<uint32_t>(shared + 1024 + uint32_t(t) * 4);
  hp::mbarrier_arrive_remote(b, next);
  hp::mbarrier_wait(b, 0);
  hp::mbarrier_arrive_remote<hp::Order::release>(c, next);
  hp::mbarrier_wait(c, 0);
  hp::store_global(out + (rank * 2) * 128 + t, seen);
  hp::store_global(out + (rank * 2 + 1) * 128 + t, got);
  hp::cluster_arrive<hp::Order::relaxed>();
  hp::cluster_wait();
}

// Blocks count themselves; the last one sees all their writes.
WF_KERNEL(128)
global_kernel(uint32_t* out, int* counter, float* sum) {  // out (4 blocks, 128)
  const int t = hp::thread_id();
  hp::store_global(out + hp::block_id() * 128 + t, uint32_t(hp::block_id() * 1000 + t));
  hp::atomic_add(sum, 1.0f);
  hp::atomic_add(counter + 1, t);
  hp::fence_device();
  hp::block_sync();
  if (t == 0) hp::atomic_add_release(counter, 1);
  if (hp::block_id() != 0) return;
  if (t == 0) {
    while (hp::load_acquire(counter) != hp::grid_blocks()) {
    }
    hp::store_release(counter + 2, 7);
  }
  hp::block_sync();
  uint32_t total = 0;
  for (int i = 0; i < hp::grid_blocks(); ++i) total += hp::load_global(out + i * 128 + t);
  hp::store_global(out + 512 + t, total);
}

// The largest of the numbers that all threads give, and of what was there before.
WF_KERNEL(128)
maximum_kernel(int* out) {  // out (2)
  const int t = hp::thread_id();
  hp::atomic_max(out, hp::block_id() * 128 + t);
  hp::atomic_max(out + 1, -5 - t);
}

template <class Kernel>
Case simple(const char* name, Kernel kernel, size_t words, hp::Launch launch) {
  return {name, [=] {
            Buffer<uint32_t> out(words);
            require(hp::launch(launch, kernel, out.data()));
            return out.words();
          }};
}

}  // namespace
}  // namespace WF_TARGET

std::vector<Case> thread_cases() {
  const hp::Launch one{.blocks = 1, .threads = 128, .shared_bytes = 8192};
  std::vector<Case> list;
  list.push_back(simple("identity", identity_kernel, 4 * 128 * 12,
                        {.blocks = 4, .threads = 128, .shared_bytes = 2048, .cluster = 2}));
  list.push_back(simple("shuffles, votes, byte permute", warp_kernel, 128 * 12, one));
  list.push_back(simple("conversions", conversion_kernel, 128 * 12, one));
  list.push_back(simple("rounding to e4m3", e4m3_kernel, 128 * 4, one));
  list.push_back(simple("sums and bits of pairs", pair_kernel, 128 * 4, one));
  list.push_back(simple("approximate quotients that are exact", division_kernel, 128 * 2, one));
  list.push_back(simple("products with sums, registers made anew", multiply_add_kernel, 128 * 9, one));
  list.push_back(simple("ldmatrix and stmatrix", matrix_kernel<false>, 128 * 16, one));
  list.push_back(simple("ldmatrix and stmatrix, transposed", matrix_kernel<true>, 128 * 16, one));
  list.push_back(simple("shared memory of 1 to 16 bytes", shared_kernel, 128 * 7, one));
  list.push_back(simple("mbarrier phases", mbarrier_kernel, 256, one));
  list.push_back(simple("named barriers and registers", barrier_kernel, 256,
                        {.blocks = 1, .threads = 256, .shared_bytes = 8192}));
  list.push_back(simple("cluster of 4", cluster_kernel, 8 * 128,
                        {.blocks = 4, .threads = 128, .shared_bytes = 8192, .cluster = 4}));
  list.push_back({"largest number of all blocks", [] {
                    Buffer<int> out(2, [](size_t i) { return i == 0 ? 3 : -1000; });
                    require(hp::launch({.blocks = 4, .threads = 128}, maximum_kernel, out.data()));
                    return out.words();
                  }});
  list.push_back({"global memory between blocks", [] {
                    Buffer<uint32_t> out(640);
                    Buffer<int> counter(4, [](size_t) { return 0; });
                    Buffer<float> sum(1, [](size_t) { return 0.0f; });
                    require(hp::launch({.blocks = 4, .threads = 128}, global_kernel, out.data(),
                                       counter.data(), sum.data()));
                    Words w = out.words();
                    for (const uint32_t x : counter.words()) w.push_back(x);
                    w.push_back(sum.words()[0]);
                    return w;
                  }});
  return list;
}

}  // namespace conformance
