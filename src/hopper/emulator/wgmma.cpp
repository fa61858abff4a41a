// WGMMA: products of a warpgroup, executed in order at some time after all 128 threads have issued them.
//
// While a product is in flight its accumulators belong to the tensor core: the threads' registers hold a
// signalling NaN until wgmma_wait, and operands in registers must not change. Operands are widened to fp32,
// in which every product is exact; sums are fp32, or exact integers for int8 (32 products of int8 are below
// 2^24) added to int32 with wrap-around.
#include <algorithm>
#include <cstring>

#include "cluster.h"
#include "warpfold/hopper/emulator/numbers.h"
#include "warpfold/hopper/hopper.h"
#include "warpfold/layout/hardware/wgmma.h"

namespace warpfold::hopper::emulator {

namespace {

namespace hw = layout::hardware;

Cluster& cluster() { return Cluster::current(); }

// A signalling NaN: what is computed with it is NaN, and any arithmetic on it sets its quiet bit, so that
// `d[i] *= 0.5f` shows at the wait. Negative, so that a negation and an absolute value show, too.
constexpr uint32_t in_flight_bits = 0xFFBFFFFF;
constexpr uint32_t rows = 64, depth_bytes = 32;  // of every instruction

uint32_t element_bytes(ElementType t) {
  switch (t) {
    case ElementType::bf16:
    case ElementType::f16:
      return 2;
    case ElementType::tf32:
      return 4;
    default:
      return 1;
  }
}
bool is_integer(ElementType t) { return t == ElementType::s8 || t == ElementType::u8; }

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WF_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WF_CLONES
#endif

// Values of all bytes of a small float.
struct ByteTable {
  float value[256];
  explicit ByteTable(bool e4) {
    for (uint32_t i = 0; i < 256; ++i)
      value[i] = e4 ? to_float(e4m3{uint8_t(i)}) : to_float(e5m2{uint8_t(i)});
  }
};
const float* small_floats(bool e4) {
  static const ByteTable e4m3_values(true), e5m2_values(false);
  return e4 ? e4m3_values.value : e5m2_values.value;
}

// Widens `bytes` bytes of elements.
WF_CLONES void widen(ElementType t, const uint8_t* from, float* to, uint32_t bytes) {
  const auto each = [&]<class T>(T bits, auto value) {
    for (uint32_t i = 0; i < bytes / sizeof(T); ++i) {
      std::memcpy(&bits, from + i * sizeof(T), sizeof(T));
      to[i] = value(bits);
    }
  };
  switch (t) {
    case ElementType::bf16:
      return each(uint16_t{}, [](uint16_t bits) { return to_float(bf16{bits}); });
    case ElementType::f16:
      return each(uint16_t{}, [](uint16_t bits) { return to_float(f16{bits}); });
    case ElementType::tf32:  // the instruction reads 19 bits
      return each(uint32_t{}, [](uint32_t bits) { return std::bit_cast<float>(bits & 0xFFFFE000u); });
    case ElementType::s8:
      return each(int8_t{}, [](int8_t bits) { return float(bits); });
    case ElementType::u8:
      return each(uint8_t{}, [](uint8_t bits) { return float(bits); });
    default: {
      const float* values = small_floats(t == ElementType::e4m3);
      return each(uint8_t{}, [&](uint8_t bits) { return values[bits]; });
    }
  }
}

// 16 rows at a time: a vector register of AVX-512, two of AVX2, four of SSE or NEON.
typedef float Rows __attribute__((vector_size(64)));
typedef int32_t Integers __attribute__((vector_size(64)));
typedef uint32_t Bits __attribute__((vector_size(64)));
constexpr uint32_t rows_at_once = 16, columns_at_once = 8;

// tile (n, 64) (+)= the transpose of A B, A as (depth, 64), element (k, j) of B at b[k * down + j * across].
WF_CLONES void multiply(uint32_t* tile, const float* a, const float* b, uint32_t n, uint32_t depth,
                        uint32_t down, uint32_t across, bool integers, bool accumulate) {
  for (uint32_t j = 0; j < n; j += columns_at_once, b += columns_at_once * across)
    for (uint32_t i = 0; i < rows; i += rows_at_once) {
      Rows sum[columns_at_once] = {};
      for (uint32_t k = 0; k < depth; ++k) {
        Rows column;
        std::memcpy(&column, a + k * rows + i, sizeof column);
        for (uint32_t c = 0; c < columns_at_once; ++c) sum[c] += column * b[k * down + c * across];
      }
      for (uint32_t c = 0; c < columns_at_once; ++c) {
        uint32_t* to = tile + (j + c) * rows + i;
        if (integers) {
          Bits d = {};  // unsigned: int32 wraps around
          if (accumulate) std::memcpy(&d, to, sizeof d);
          d += Bits(__builtin_convertvector(sum[c], Integers));
          std::memcpy(to, &d, sizeof d);
        } else {
          Rows d = sum[c];
          if (accumulate) {
            std::memcpy(&d, to, sizeof d);
            d = sum[c] + d;
          }
          std::memcpy(to, &d, sizeof d);
        }
      }
    }
}

// The matrix descriptor of an operand; addresses are those of 16-byte units.
struct Operand {
  uint32_t start, leading, stride;
  SwizzleMode swizzle;

  Operand(Cluster& c, uint64_t d)
      : start(uint32_t(d & 0x3FFF) << 4),
        leading(uint32_t(d >> 16 & 0x3FFF) << 4),
        stride(uint32_t(d >> 32 & 0x3FFF) << 4),
        swizzle(d >> 62 == 0 ? SwizzleMode::none : SwizzleMode(4 - (d >> 62))) {
    if ((d >> 49 & 7) != 0) c.fail("WGMMA: descriptors with a base offset are not modelled");
  }
  uint32_t span() const { return 16u << int(swizzle); }
  uint32_t place(uint32_t address) const {
    return address ^ (address >> 7 & ((1u << int(swizzle)) - 1)) << 4;
  }
  uint32_t k_major_unit(uint32_t row, uint32_t unit) const {
    if (swizzle == SwizzleMode::none) return start + row / 8 * stride + unit * leading + row % 8 * 16;
    return place(start + row / 8 * stride + row % 8 * span() + unit * 16);
  }
  uint32_t mn_major_unit(uint32_t unit, uint32_t k) const {
    if (swizzle == SwizzleMode::none) return start + unit * stride + k / 8 * leading + k % 8 * 16;
    const uint32_t units = span() / 16;
    return place(start + unit / units * leading + unit % units * 16 + k % 8 * span() + k / 8 * stride);
  }
};

// Gathers an operand as it lies in shared memory, 16 bytes at a time.
struct Reader {
  Cluster& c;
  uint32_t rank;
  Access access;
  Passed passed = {};
  void unit(uint32_t address, uint8_t* to) {
    const uint8_t* from = c.at(rank, address, 16, 16, "WGMMA operand");
    c.check_unit_async_read(rank, address, access, passed);
    std::memcpy(to, from, 16);
  }
  // (count, 32 bytes)
  void k_major(const Operand& o, uint32_t count, uint8_t* to) {
    for (uint32_t row = 0; row < count; ++row)
      for (uint32_t u = 0; u < 2; ++u, to += 16) unit(o.k_major_unit(row, u), to);
  }
  // (16, count) elements of 16 bits
  void mn_major(const Operand& o, uint32_t count, uint8_t* to) {
    for (uint32_t k = 0; k < 16; ++k)
      for (uint32_t u = 0; u < count / 8; ++u, to += 16) unit(o.mn_major_unit(u, k), to);
  }
};

// Register j of thread t holds 4 bytes of row t/32*16 + t%32/4 + j%2*8, from byte t%4*4 + j/2*16 of K.
void lay_out_registers(const uint32_t* registers, uint8_t* to) {
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t row = t / 32 * 16 + t % 32 / 4 + j % 2 * 8;
      std::memcpy(to + row * depth_bytes + t % 4 * 4 + j / 2 * 16, registers + t * 4 + j, 4);
    }
}

// Row r of the tile at words[r], a column every 64 words: where thread t has its registers. f(register,
// word).
template <class F>
void each_register(uint32_t t, uint32_t n, F f) {
  const auto first = uint32_t(accumulator_column(int(t), 0)) * rows + uint32_t(accumulator_row(int(t), 0));
  for (uint32_t i = 0; i < n / 2; i += 4) {
    const uint32_t word = first + i * 2 * rows;
    f(i, word);
    f(i + 1, word + rows);
    f(i + 2, word + 8);
    f(i + 3, word + rows + 8);
  }
}

}  // namespace

void Cluster::execute_product(uint32_t warpgroup) {
  Warpgroup& wg = warpgroups_[warpgroup];
  PendingProduct& op = wg.queue.front();
  const Product& p = op.product;
  const uint32_t depth = depth_bytes / element_bytes(p.a), n = uint32_t(p.n);
  const Epoch self{warpgroup_agent(warpgroup), Time(wg.executed + 1)};
  Reader reader{*this, op.rank, {op.base.get(), self, self}};
  static thread_local uint8_t bytes[256 * depth_bytes];
  static thread_local float a[rows * depth_bytes], b[256 * depth_bytes], by_row[rows * depth_bytes];

  const bool columns = !p.a_in_registers && p.a_mn_major;
  if (p.a_in_registers) {
    lay_out_registers(op.a_registers.data(), bytes);
  } else if (columns) {
    reader.mn_major(Operand(*this, p.a_descriptor), rows, bytes);
  } else {
    reader.k_major(Operand(*this, p.a_descriptor), rows, bytes);
  }
  widen(p.a, bytes, columns ? a : by_row, rows * depth_bytes);
  if (!columns)
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t i = 0; i < rows; ++i) a[k * rows + i] = by_row[i * depth + k];
  if (p.negate_a != p.negate_b)
    for (uint32_t i = 0; i < rows * depth; ++i) a[i] = -a[i];

  if (p.b_mn_major) {
    reader.mn_major(Operand(*this, p.b_descriptor), n, bytes);
  } else {
    reader.k_major(Operand(*this, p.b_descriptor), n, bytes);
  }
  widen(p.b, bytes, b, n * depth_bytes);
  multiply(op.accumulators->tile.data(), a, b, n, depth, p.b_mn_major ? n : 1, p.b_mn_major ? 1 : depth,
           is_integer(p.a), p.accumulate);
  wg.queue.pop_front();
  ++wg.executed;
  wake(wg.waiters);
}

// Called by each thread; nobody blocks here.
void wgmma(const Product& product, uint32_t* registers, const uint32_t* a_registers) {
  Cluster& c = cluster();
  c.maybe_yield("wgmma");
  Thread& s = c.self();
  const uint32_t index = c.running() / 128, t = c.running() % 128;
  // A block may end with part of a warpgroup, whose warps do other work.
  const uint32_t threads = c.threads_per_block();
  if (c.running() % threads / 128 >= threads / 128)
    c.fail("WGMMA: " + c.name_of_warp(c.running()) + " is in no whole warpgroup of the block");
  if (threads % 128 != 0 && c.ranks() > 1)
    c.fail("WGMMA: the emulator wants whole warpgroups in the blocks of a cluster");
  Warpgroup& wg = c.warpgroup(index);
  const uint64_t position = s.issued - wg.executed;
  if (position == wg.queue.size()) {
    const int n = product.n;
    if (!hw::wgmma_has_n(n, is_integer(product.a)))
      c.fail([=] { return "WGMMA: there is no instruction with N = " + std::to_string(n); });
    PendingProduct& fresh = wg.queue.emplace_back();
    fresh.product = product;
    fresh.rank = c.own_rank();
    fresh.base = s.base;
    if (product.a_in_registers) fresh.a_registers.resize(128 * 4);
  }
  PendingProduct& q = wg.queue[position];
  if (!(q.product == product))
    c.fail([&c] {
      return "the threads of a warpgroup issue different WGMMAs: " + c.name_of_thread(c.running()) +
             " differs from the first in type, N, descriptors or flags";
    });
  // Operands must be visible to every thread that issues: the product knows what all of them know.
  if (s.base != q.base && s.base != q.seen) {
    q.seen = s.base;
    if (covers(*q.base, *s.base)) {
      q.base = s.base;
    } else if (!covers(*s.base, *q.base)) {
      Clock both = *q.base;
      for (size_t i = 0; i < both.size(); ++i) both[i] = std::min(both[i], (*s.base)[i]);
      q.base = share<const FrozenClock>(std::move(both));
    }
  }
  ++s.issued;
  if (product.a_in_registers) {
    std::copy_n(a_registers, 4, &q.a_registers[t * 4]);
    s.register_operands.push_back(
        {a_registers, {a_registers[0], a_registers[1], a_registers[2], a_registers[3]}, s.issued});
  }

  auto flight = std::find_if(s.in_flight.begin(), s.in_flight.end(),
                             [&](const auto& f) { return f.registers == registers; });
  if (flight == s.in_flight.end()) {
    if (!s.fenced)
      c.fail([&c] {
        return c.name_of_thread(c.running()) +
               " issues a WGMMA on registers that it has touched, without wgmma_fence";
      });
    if (!q.accumulators) q.accumulators = share<Accumulators>(uint32_t(product.n));
    if (product.accumulate)
      each_register(t, uint32_t(product.n),
                    [&](uint32_t i, uint32_t word) { q.accumulators->tile[word] = registers[i]; });
    // NaN: reading an accumulator before wgmma_wait must show.
    std::fill_n(registers, product.n / 2, in_flight_bits);
    flight = s.in_flight.insert(s.in_flight.end(), {registers, q.accumulators, 0});
  } else if (!q.accumulators) {
    q.accumulators = flight->accumulators;
  }
  if (flight->accumulators != q.accumulators || flight->accumulators->n != uint32_t(product.n))
    c.fail("the threads of a warpgroup disagree on the accumulators of a WGMMA");
  flight->last = s.issued;
  ++q.threads;
}

void wgmma_fence() { cluster().self().fenced = true; }

void wgmma_commit() {
  Thread& t = cluster().self();
  t.product_groups.push_back(t.issued);
}

[[noreturn, gnu::noinline]] static void fail_changed(Cluster& c, const Thread::InFlight& f) {
  uint32_t i = 0;
  while (f.registers[i] == in_flight_bits) ++i;
  c.fail(c.name_of_thread(c.running()) + " changed accumulator " + std::to_string(i) +
         " of a WGMMA before wgmma_wait");
}

void wgmma_wait(uint32_t pending) {
  Cluster& c = cluster();
  c.maybe_yield("wgmma_wait");
  Thread& s = c.self();
  s.fenced = false;
  const uint32_t index = c.running() / 128, t = c.running() % 128;
  Warpgroup& wg = c.warpgroup(index);
  uint64_t target = 0;
  while (s.product_groups.size() > pending) {
    target = s.product_groups.front();
    s.product_groups.erase(s.product_groups.begin());
  }
  if (target == 0) return;
  c.wait(wg.waiters, {Waiting::For::product, 0, 0}, [&] { return wg.executed >= target; });
  s.products_known = std::max(s.products_known, Time(target));
  std::erase_if(s.register_operands, [&](const Thread::RegisterOperand& r) {
    if (r.product > target) return false;
    if (!std::equal(r.value, r.value + 4, r.registers))
      c.fail([&c] {
        return c.name_of_thread(c.running()) + " changed a register operand of a WGMMA before wgmma_wait";
      });
    return true;
  });
  std::erase_if(s.in_flight, [&](const Thread::InFlight& f) {
    if (f.last > target) return false;
    const uint32_t n = f.accumulators->n;
    uint32_t changed = 0;
    for (uint32_t i = 0; i < n / 2; ++i) changed |= f.registers[i] ^ in_flight_bits;
    if (changed != 0) fail_changed(c, f);
    const uint32_t* tile = f.accumulators->tile.data();
    each_register(t, n, [&](uint32_t i, uint32_t word) { f.registers[i] = tile[word]; });
    return true;
  });
}

}  // namespace warpfold::hopper::emulator
