// WGMMA: products of a warpgroup, executed in order at some time after all 128 threads have issued them.
//
// While a product is in flight its accumulators belong to the tensor core: the threads' registers hold NaN
// until wgmma_wait, and operands in registers must not change. Operands are widened to fp32, in which every
// product is exact; sums are fp32, or exact integers for int8 (32 products of int8 are below 2^24) added to
// int32 with wrap-around.
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

constexpr uint32_t largest_k = 32;               // elements of one byte
constexpr uint32_t in_flight_bits = 0x7FFFFFFF;  // a NaN

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

// Values of all bytes of a type of one byte.
struct ByteTable {
  float value[256];
  explicit ByteTable(ElementType t) {
    for (uint32_t i = 0; i < 256; ++i)
      value[i] = t == ElementType::s8     ? float(int8_t(i))
                 : t == ElementType::u8   ? float(i)
                 : t == ElementType::e4m3 ? to_float(e4m3{uint8_t(i)})
                                          : to_float(e5m2{uint8_t(i)});
  }
};

// Widens `count` elements.
void widen(ElementType t, const uint8_t* from, float* to, uint32_t count) {
  static const ByteTable s8(ElementType::s8), u8(ElementType::u8), f8(ElementType::e4m3),
      g8(ElementType::e5m2);
  switch (t) {
    case ElementType::bf16:
      for (uint32_t i = 0; i < count; ++i) {
        uint16_t bits;
        std::memcpy(&bits, from + 2 * i, 2);
        to[i] = to_float(bf16{bits});
      }
      return;
    case ElementType::f16:
      for (uint32_t i = 0; i < count; ++i) {
        uint16_t bits;
        std::memcpy(&bits, from + 2 * i, 2);
        to[i] = to_float(f16{bits});
      }
      return;
    case ElementType::tf32:
      for (uint32_t i = 0; i < count; ++i) {
        uint32_t bits;
        std::memcpy(&bits, from + 4 * i, 4);
        to[i] = std::bit_cast<float>(bits & 0xFFFFE000u);  // the instruction reads 19 bits
      }
      return;
    default: {
      const ByteTable& table = t == ElementType::s8     ? s8
                               : t == ElementType::u8   ? u8
                               : t == ElementType::e4m3 ? f8
                                                        : g8;
      for (uint32_t i = 0; i < count; ++i) to[i] = table.value[from[i]];
    }
  }
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WF_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WF_CLONES
#endif

// 16 columns at a time: a vector register of AVX-512, two of AVX2, four of SSE or NEON.
typedef float Columns __attribute__((vector_size(64)));
constexpr uint32_t columns = 16, rows_at_once = 8;

// sum (8, n) = A (8, depth) B (depth, n); n is rounded up to whole vectors, b and sum are aligned to them.
WF_CLONES void multiply_rows(float* sum, const float* a, const float* b, uint32_t n, uint32_t depth) {
  for (uint32_t j = 0; j < n; j += columns) {
    Columns d[rows_at_once] = {};
    for (uint32_t k = 0; k < depth; ++k) {
      const Columns row = *reinterpret_cast<const Columns*>(b + k * n + j);
      for (uint32_t i = 0; i < rows_at_once; ++i) d[i] += a[i * depth + k] * row;
    }
    for (uint32_t i = 0; i < rows_at_once; ++i) *reinterpret_cast<Columns*>(sum + i * n + j) = d[i];
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

// (rows, depth) of a K-major or MN-major operand, widened. K-major rows come out as they are, MN-major ones
// as (depth, rows).
struct Reader {
  Cluster& c;
  uint32_t rank;
  Access access;
  const uint8_t* unit(uint32_t address) {
    const uint8_t* p = c.at(rank, address, 16, 16, "WGMMA operand");
    c.check_async_read(rank, address, 16, access);
    return p;
  }
};

void read_k_major(Reader r, const Operand& o, ElementType t, uint32_t rows, float* to) {
  const uint32_t per_unit = 16 / element_bytes(t);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t u = 0; u < 2; ++u)
      widen(t, r.unit(o.k_major_unit(row, u)), to + (row * 2 + u) * per_unit, per_unit);
}
void read_mn_major(Reader r, const Operand& o, ElementType t, uint32_t rows, float* to, uint32_t stride) {
  for (uint32_t k = 0; k < 16; ++k)
    for (uint32_t u = 0; u < rows / 8; ++u)
      widen(t, r.unit(o.mn_major_unit(u, k)), to + k * stride + u * 8, 8);
}
// to (width, rows), rows `stride` apart, = from (rows, width)
void transpose(const float* from, float* to, uint32_t rows, uint32_t width, uint32_t stride) {
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t j = 0; j < width; ++j) to[j * stride + i] = from[i * width + j];
}

}  // namespace

void Cluster::execute_product(uint32_t warpgroup) {
  Warpgroup& wg = warpgroups_[warpgroup];
  PendingProduct& op = wg.queue.front();
  const Product& p = op.product;
  const uint32_t depth = 32 / element_bytes(p.a), n = uint32_t(p.n);
  const uint32_t padded = (n + columns - 1) / columns * columns;
  const Epoch self{warpgroup_agent(warpgroup), Time(wg.executed + 1)};
  Reader reader{*this, op.rank, {op.base.get(), self, self}};
  alignas(64) static thread_local float a[64 * largest_k], b[256 * largest_k], raw[256 * largest_k],
      sum[rows_at_once * 256];

  if (p.a_in_registers) {
    // Register j of thread t holds 4 bytes of row t/32*16 + t%32/4 + j%2*8, from byte t%4*4 + j/2*16 of K.
    const uint32_t per_register = 4 / element_bytes(p.a);
    for (uint32_t t = 0; t < 128; ++t)
      for (uint32_t j = 0; j < 4; ++j) {
        const uint32_t row = t / 32 * 16 + t % 32 / 4 + j % 2 * 8;
        widen(p.a, reinterpret_cast<const uint8_t*>(&op.a_registers[t * 4 + j]),
              a + row * depth + (t % 4 * 4 + j / 2 * 16) / element_bytes(p.a), per_register);
      }
  } else if (p.a_mn_major) {
    read_mn_major(reader, Operand(*this, p.a_descriptor), p.a, 64, raw, 64);
    transpose(raw, a, depth, 64, depth);
  } else {
    read_k_major(reader, Operand(*this, p.a_descriptor), p.a, 64, a);
  }
  if (p.b_mn_major) {
    read_mn_major(reader, Operand(*this, p.b_descriptor), p.b, n, b, padded);
  } else {
    read_k_major(reader, Operand(*this, p.b_descriptor), p.b, n, raw);
    transpose(raw, b, n, depth, padded);
  }
  if (p.negate_a != p.negate_b)
    for (uint32_t i = 0; i < 64 * depth; ++i) a[i] = -a[i];

  uint32_t* tile = op.accumulators->tile.data();  // (64, n)
  const bool integers = is_integer(p.a);
  for (uint32_t first = 0; first < 64; first += rows_at_once) {
    multiply_rows(sum, a + first * depth, b, padded, depth);
    for (uint32_t row = 0; row < rows_at_once; ++row, tile += n) {
      const float* from = sum + row * padded;
      for (uint32_t i = 0; i < n; ++i) {
        if (integers) {
          tile[i] = (p.accumulate ? tile[i] : 0) + uint32_t(int32_t(from[i]));
        } else {
          const float d = p.accumulate ? from[i] + std::bit_cast<float>(tile[i]) : from[i];
          tile[i] = std::bit_cast<uint32_t>(d);
        }
      }
    }
  }
  wg.queue.pop_front();
  ++wg.executed;
  wake(wg.waiters);
}

// Called by each thread; nobody blocks here.
void wgmma(const Product& product, uint32_t* registers, const uint32_t* a_registers) {
  Cluster& c = cluster();
  c.maybe_yield();
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
    if (!hw::wgmma_has_n(product.n, is_integer(product.a)))
      c.fail("WGMMA: there is no instruction with N = " + std::to_string(product.n));
    PendingProduct& fresh = wg.queue.emplace_back();
    fresh.product = product;
    fresh.rank = c.rank_of(c.running());
    fresh.base = s.base;
    if (product.a_in_registers) fresh.a_registers.resize(128 * 4);
  }
  PendingProduct& q = wg.queue[position];
  if (!(q.product == product))
    c.fail("the threads of a warpgroup issue different WGMMAs: " + c.name_of_thread(c.running()) +
           " differs from the first in type, N, descriptors or flags");
  // Operands must be visible to every thread that issues: the product knows what all of them know.
  if (s.base != q.base && s.base != q.seen) {
    q.seen = s.base;
    if (covers(*q.base, *s.base)) {
      q.base = s.base;
    } else if (!covers(*s.base, *q.base)) {
      auto both = std::make_shared<Clock>(*q.base);
      for (size_t i = 0; i < both->size(); ++i) (*both)[i] = std::min((*both)[i], (*s.base)[i]);
      q.base = std::move(both);
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
      c.fail(c.name_of_thread(c.running()) +
             " issues a WGMMA on registers that it has touched, without wgmma_fence");
    if (!q.accumulators) {
      q.accumulators = std::make_shared<Accumulators>();
      q.accumulators->n = uint32_t(product.n);
      q.accumulators->tile.resize(64 * size_t(product.n));
    }
    if (product.accumulate)
      for (int i = 0; i < product.n / 2; ++i)
        q.accumulators->tile[size_t(accumulator_row(int(t), i) * product.n + accumulator_column(int(t), i))] =
            registers[i];
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

void wgmma_wait(uint32_t pending) {
  Cluster& c = cluster();
  c.maybe_yield();
  Thread& s = c.self();
  s.fenced = false;
  const uint32_t index = c.running() / 128, t = c.running() % 128;
  Warpgroup& wg = c.warpgroup(index);
  uint64_t target = 0;
  while (s.product_groups.size() > pending) {
    target = s.product_groups.front();
    s.product_groups.pop_front();
  }
  if (target == 0) return;
  c.wait(wg.waiters, {Waiting::For::product, 0, 0}, [&] { return wg.executed >= target; });
  s.products_known = std::max(s.products_known, Time(target));
  std::erase_if(s.register_operands, [&](const Thread::RegisterOperand& r) {
    if (r.product > target) return false;
    if (!std::equal(r.value, r.value + 4, r.registers))
      c.fail(c.name_of_thread(c.running()) + " changed a register operand of a WGMMA before wgmma_wait");
    return true;
  });
  std::erase_if(s.in_flight, [&](const Thread::InFlight& f) {
    if (f.last > target) return false;
    for (uint32_t i = 0; i < f.accumulators->n / 2; ++i)
      if (f.registers[i] != in_flight_bits)
        c.fail(c.name_of_thread(c.running()) + " changed accumulator " + std::to_string(i) +
               " of a WGMMA before wgmma_wait");
    const int n = int(f.accumulators->n);
    for (int i = 0; i < n / 2; ++i)
      f.registers[i] =
          f.accumulators->tile[size_t(accumulator_row(int(t), i) * n + accumulator_column(int(t), i))];
    return true;
  });
}

}  // namespace warpfold::hopper::emulator
