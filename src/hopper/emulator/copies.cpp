// Asynchronous copies: TMA boxes, bulk copies and cp.async. Each lands at a random time, loads piece by
// piece.
#include <cstring>

#include "cluster.h"
#include "warpfold/hopper/emulator/numbers.h"
#include "warpfold/hopper/hopper.h"

namespace warpfold::hopper::emulator {

namespace {

namespace hw = layout::hardware;

Cluster& cluster() { return Cluster::current(); }

uint32_t swizzled_address(uint32_t address, SwizzleMode mode) {
  return address ^ (address >> 7 & ((1u << int(mode)) - 1)) << 4;
}

// One row of a box: `bytes` bytes at shared offset `shared` before the swizzle. Bytes [first, last) are
// inside the tensor, at `global`; null where the whole row is outside.
struct Row {
  uint32_t shared = 0;
  int64_t first = 0, last = 0;
  uint8_t* global = nullptr;
};

// A box of up to five dimensions at given coordinates, as rows along dimension 0.
struct Box {
  TensorMap map;
  int64_t at[5] = {};
  uint32_t row_bytes = 0, rows = 1;
  const GlobalBuffer* buffer;  // that the tensor begins in, and must not leave

  Box(const TensorMap& m, const int* coordinates, const GlobalBuffer* b) : map(m), buffer(b) {
    for (int i = 0; i < m.shape.rank; ++i) at[i] = coordinates[i];
    row_bytes = uint32_t(m.shape.box[0]) * uint32_t(m.shape.element_bytes);
    for (int i = 1; i < m.shape.rank; ++i) rows *= uint32_t(m.shape.box[i]);
  }
  Row row(uint32_t index) const {
    const hw::TensorMap& s = map.shape;
    Row r;
    r.shared = index * row_bytes;
    int64_t offset = 0;
    for (int i = 1; i < s.rank; ++i) {
      const int64_t x = at[i] + int64_t(index % uint32_t(s.box[i]));
      index /= uint32_t(s.box[i]);
      if (x < 0 || x >= s.size[i]) return r;
      offset += x * s.stride[i];
    }
    const int64_t low = std::max<int64_t>(0, -at[0]), high = std::min(s.box[0], s.size[0] - at[0]);
    if (low >= high) return r;
    r.first = low * s.element_bytes;
    r.last = high * s.element_bytes;
    r.global = map.base + (offset + at[0] + low) * s.element_bytes;
    return r;
  }
};

// The launch's buffer that holds the beginning of a tensor that is read or written; null if the launch names none.
const GlobalBuffer* buffer_of(Cluster& c, const void* base, uint64_t bytes, bool reads, const char* what) {
  c.check_previous(base, reads, what);
  c.check_bounds(base, bytes, what, c.running());
  return c.global().buffer_of(reinterpret_cast<uintptr_t>(base), bytes);
}

void check_box(Cluster& c, const char* atom, const TensorMap& m, uint32_t shared, const int* at, int rank) {
  if (rank != m.shape.rank)
    c.fail(std::string(atom) + ": " + std::to_string(rank) + " coordinates for a tensor map of " +
           std::to_string(m.shape.rank) + " dimensions");
  for (int i = 0; i < rank; ++i)
    if (m.shape.element_stride[i] != 1) c.fail(std::string(atom) + ": element strides are not modelled");
  if (const hw::Why why = hw::check_box(m.shape, at[0], shared); why.rule != hw::Rule::none)
    c.fail(std::string(atom) + ": " + std::string(hw::sentence(why).view()));
  const int64_t row = m.shape.box[0] * m.shape.element_bytes;
  if (m.shape.swizzle != SwizzleMode::none && row != hw::span_bytes(m.shape.swizzle))
    c.fail(std::string(atom) + ": rows of " + std::to_string(row) + " bytes under a swizzle of " +
           std::to_string(hw::span_bytes(m.shape.swizzle)) + " bytes leave gaps; a row has to be one span");
}

// A tensor map of tf32 rounds fp32 as it loads: to nearest even, and NaN to one NaN.
void round_to_tf32(uint8_t* row, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 4) {
    uint32_t bits;
    std::memcpy(&bits, row + i, 4);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
      bits = 0x7FFFE000;
    else
      bits = (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000;
    std::memcpy(row + i, &bits, 4);
  }
}

struct Load final : AsyncOp {
  Box box;
  uint32_t rank, shared, barrier, done = 0;
  SharedClock base;
  Epoch self, parent;

  explicit Load(const Box& b) : box(b) {}
  bool step(Cluster& c) override {
    if (c.block(rank).live_threads == 0)
      c.fail("a TMA load lands in rank " + std::to_string(rank) + ", whose block has exited");
    const Access access{base.get(), self, parent};
    Shadow::Cell passed;
    const uint32_t count = 1 + c.random().below(box.rows - done);
    uint8_t line[2048];
    for (const uint32_t end = done + count; done < end; ++done) {
      const Row r = box.row(done);
      std::memset(line, 0, box.row_bytes);  // outside the tensor: zeros, which count as bytes
      if (r.global != nullptr) {
        c.check_global(r.global, uint64_t(r.last - r.first), GlobalMemory::Use::read, "the TMA load",
                       parent.agent, box.buffer);
        std::memcpy(line + r.first, r.global, size_t(r.last - r.first));
        if (box.map.type == ElementType::tf32) round_to_tf32(line, box.row_bytes);
      }
      for (uint32_t u = 0; u < box.row_bytes; u += 16) {
        const uint32_t a = swizzled_address(shared + r.shared + u, box.map.shape.swizzle);
        uint8_t* to = c.at(rank, a, 16, 16, "tma_load");
        c.check_unit_write(rank, a, access, passed);
        std::memcpy(to, line + u, 16);
      }
    }
    c.mbarrier_bytes(rank, barrier, count * box.row_bytes, base, self, parent);
    return done == box.rows;
  }
};

void add_to_memory(uint8_t* to, const uint8_t* from, size_t bytes, ElementType type) {
  const auto each = [&]<class T>(T, auto sum) {
    for (size_t i = 0; i < bytes; i += sizeof(T)) {
      T a, b;
      std::memcpy(&a, to + i, sizeof(T));
      std::memcpy(&b, from + i, sizeof(T));
      const T r = sum(a, b);
      std::memcpy(to + i, &r, sizeof(T));
    }
  };
  switch (type) {
    case ElementType::bf16:
      return each(bf16{}, [](bf16 a, bf16 b) { return to_bf16(to_float(a) + to_float(b)); });
    case ElementType::f16:
      return each(f16{}, [](f16 a, f16 b) { return to_f16(to_float(a) + to_float(b)); });
    case ElementType::s32:
      return each(uint32_t{}, [](uint32_t a, uint32_t b) { return a + b; });
    default:
      return each(float{}, [](float a, float b) { return a + b; });
  }
}

// Reads the whole box from shared memory at one time and writes it to global memory at a later one.
struct Store final : AsyncOp {
  Box box;
  bool add;
  uint32_t rank, shared;
  SharedClock base;
  Epoch self, parent;
  Shared<BulkGroup> group;
  uint32_t thread;
  bool read = false;
  std::vector<uint8_t> data;

  explicit Store(const Box& b) : box(b) {}
  bool step(Cluster& c) override {
    if (!read) {
      data.resize(size_t(box.rows) * box.row_bytes);
      const Access access{base.get(), self, parent};
      Passed passed;
      for (uint32_t i = 0; i < box.rows; ++i)
        for (uint32_t u = 0; u < box.row_bytes; u += 16) {
          const uint32_t a = swizzled_address(shared + i * box.row_bytes + u, box.map.shape.swizzle);
          const uint8_t* from = c.at(rank, a, 16, 16, "tma_store");
          c.check_unit_async_read(rank, a, access, passed);
          std::memcpy(&data[i * box.row_bytes + u], from, 16);
        }
      read = true;
      --group->reading;
      group->done.push_back(self);
      c.wake(c.thread(thread).bulk_waiters);
      return false;
    }
    for (uint32_t i = 0; i < box.rows; ++i) {
      const Row r = box.row(i);
      if (r.global == nullptr) continue;
      // The chip clips a store in units of 16 bytes: one that begins inside the tensor is written whole.
      const int64_t last = std::min<int64_t>(box.row_bytes, (r.last + 15) / 16 * 16);
      c.check_global(r.global, uint64_t(last - r.first),
                     add ? GlobalMemory::Use::atomic : GlobalMemory::Use::write,
                     add ? "the TMA reduction" : "the TMA store", thread, box.buffer);
      const uint8_t* from = &data[i * box.row_bytes + uint32_t(r.first)];
      if (add)
        add_to_memory(r.global, from, size_t(last - r.first), box.map.type);
      else
        std::memcpy(r.global, from, size_t(last - r.first));
    }
    --group->writing;
    c.wake(c.thread(thread).bulk_waiters);
    return true;
  }
};

void issue_load(Cluster& c, const char* atom, const Box& box, uint32_t rank, uint32_t shared,
                uint32_t barrier) {
  auto op = std::make_unique<Load>(box);
  op->rank = rank;
  op->shared = shared;
  op->barrier = barrier;
  op->base = c.self().base;
  op->self = c.next_copy_epoch(atom);
  op->parent = c.epoch();
  c.add_copy(std::move(op));
}

void issue_store(Cluster& c, const char* atom, const Box& box, uint32_t shared, bool add) {
  auto op = std::make_unique<Store>(box);
  op->add = add;
  op->rank = c.own_rank();
  op->shared = shared;
  op->base = c.self().base;
  op->self = c.next_copy_epoch(atom);
  op->parent = c.epoch();
  if (!c.self().open_bulk) c.self().open_bulk = share<BulkGroup>();
  op->group = c.self().open_bulk;
  op->thread = c.running();
  ++op->group->reading;
  ++op->group->writing;
  c.add_copy(std::move(op));
  ++c.self().now;
}

// A bulk copy as a box of one dimension.
Box line(Cluster& c, const char* atom, const void* global, bool reads, uint32_t shared, uint32_t bytes) {
  if (reinterpret_cast<uintptr_t>(global) % 16 != 0 || shared % 16 != 0 || bytes % 16 != 0)
    c.fail(std::string(atom) + ": global address, shared address and size are multiples of 16");
  TensorMap m{static_cast<uint8_t*>(const_cast<void*>(global)), ElementType::bits, {}};
  m.shape.rank = 2;
  m.shape.element_bytes = 1;
  m.shape.size[0] = m.shape.box[0] = 16;
  m.shape.size[1] = m.shape.box[1] = bytes / 16;
  m.shape.stride[1] = 16;
  const int origin[2] = {0, 0};
  return Box(m, origin, buffer_of(c, m.base, bytes, reads, "the bulk copy"));
}

}  // namespace

void tma_load(uint32_t destination, const TensorMap& map, uint32_t barrier, uint32_t mask, const int* at,
              int rank) {
  Cluster& c = cluster();
  c.maybe_yield("tma_load");
  destination = c.local(destination, "tma_load");
  barrier = c.local(barrier, "tma_load");
  check_box(c, "tma_load", map, destination, at, rank);
  const Box box(map, at, buffer_of(c, map.base, 1, true, "the TMA load"));
  const uint32_t own = c.own_rank();
  const bool multicast = mask != 0;
  mask &= 0xFFFF;
  if (!multicast) mask = 1u << own;
  if (mask == 0) c.fail("tma_load_multicast: the mask names no block");
  if (mask >> c.ranks() != 0)
    c.fail("tma_load_multicast: the mask " + std::to_string(mask) + " names a block outside the cluster of " +
           std::to_string(c.ranks()));
  for (uint32_t r = 0; r < c.ranks(); ++r) {
    if ((mask >> r & 1) == 0) continue;
    c.check_range(r, destination, box.rows * box.row_bytes, "tma_load");
    if (c.block(r).live_threads == 0)
      c.fail("tma_load_multicast: the block of rank " + std::to_string(r) + " has exited");
    c.mbarrier(r, barrier, "tma_load", true);
    issue_load(c, multicast ? "tma_load_multicast" : "tma_load", box, r, destination, barrier);
  }
  ++c.self().now;
}

void tma_store(const TensorMap& map, uint32_t source, const int* at, int rank, bool add) {
  Cluster& c = cluster();
  c.maybe_yield(add ? "tma_reduce_add" : "tma_store");
  source = c.local(source, "tma_store");
  check_box(c, add ? "tma_reduce_add" : "tma_store", map, source, at, rank);
  for (int i = 0; i < rank; ++i)
    if (at[i] < 0)
      c.fail("tma_store: coordinate " + std::to_string(i) + " of the box is " + std::to_string(at[i]) +
             "; a store that begins before the tensor is an illegal instruction on the chip");
  const Box box(map, at, buffer_of(c, map.base, 1, false, add ? "the TMA reduction" : "the TMA store"));
  c.check_range(c.own_rank(), source, box.rows * box.row_bytes, "tma_store");
  issue_store(c, add ? "tma_reduce_add" : "tma_store", box, source, add);
}

void tma_prefetch(const TensorMap& map, const int* at, int rank) {
  check_box(cluster(), "tma_prefetch", map, shared_start, at, rank);
}

void bulk_load(uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier) {
  Cluster& c = cluster();
  c.maybe_yield("bulk_load");
  destination = c.local(destination, "bulk_load");
  barrier = c.local(barrier, "bulk_load");
  const Box box = line(c, "bulk_load", source, true, destination, bytes);
  const uint32_t own = c.own_rank();
  c.check_range(own, destination, bytes, "bulk_load");
  c.mbarrier(own, barrier, "bulk_load", true);
  if (bytes > 0) issue_load(c, "bulk_load", box, own, destination, barrier);
  ++c.self().now;
}

void bulk_store(void* destination, uint32_t source, uint32_t bytes) {
  Cluster& c = cluster();
  c.maybe_yield("bulk_store");
  source = c.local(source, "bulk_store");
  const Box box = line(c, "bulk_store", destination, false, source, bytes);
  c.check_range(c.own_rank(), source, bytes, "bulk_store");
  if (bytes > 0) issue_store(c, "bulk_store", box, source, false);
}

void bulk_commit() {
  Thread& t = cluster().self();
  t.bulk_groups.push_back(t.open_bulk ? std::move(t.open_bulk) : share<BulkGroup>());
}

void bulk_wait(uint32_t pending, bool read_only) {
  Cluster& c = cluster();
  c.maybe_yield("bulk_wait");
  Thread& t = c.self();
  const size_t count = t.bulk_groups.size();
  bool learned = false;
  for (size_t i = 0; i + pending < count; ++i) {
    BulkGroup& g = *t.bulk_groups[i];
    c.wait(t.bulk_waiters, {Waiting::For::bulk, 0, 0},
           [&] { return (read_only ? g.reading : g.writing) == 0; });
    if (g.read_waited) continue;
    g.read_waited = learned = true;
  }
  if (learned) {  // the copies' reads are over
    std::vector<Epoch> done;
    for (const auto& g : t.bulk_groups)
      if (g->read_waited) done.insert(done.end(), g->done.begin(), g->done.end());
    c.learn(done);
  }
  while (!t.bulk_groups.empty() && t.bulk_groups.front()->read_waited && t.bulk_groups.front()->writing == 0)
    t.bulk_groups.erase(t.bulk_groups.begin());
}

// ---- cp.async

namespace {

struct SmallCopy final : AsyncOp {
  uint32_t thread, rank, destination, bytes, valid;
  const uint8_t* source;
  uint64_t number;
  SharedClock base;
  Epoch self, parent;

  bool step(Cluster& c) override {
    if (c.block(rank).live_threads == 0)
      c.fail("a cp.async of " + c.name_of_thread(thread) + " lands in its block, which has ended");
    uint8_t value[16] = {};
    if (valid > 0) {
      c.check_global(source, valid, GlobalMemory::Use::read, "cp.async", thread);
      std::memcpy(value, source, valid);
    }
    c.check_write(rank, destination, bytes, {base.get(), self, parent});
    std::memcpy(c.at(rank, destination, bytes, bytes, "copy_async"), value, bytes);
    Thread& t = c.thread(thread);
    std::erase(t.copies_in_flight, number);
    t.copies_landed.push_back({number, self, destination, bytes});
    for (AsyncArrival& a : t.copy_arrivals) {
      if (std::erase(a.waits_for, number) == 0) continue;
      a.landed.push_back(self);
      if (a.waits_for.empty()) finish(c, rank, a, base, parent);
    }
    std::erase_if(t.copy_arrivals, [](const AsyncArrival& a) { return a.waits_for.empty(); });
    c.wake(t.copy_waiters);
    return true;
  }
  static void finish(Cluster& c, uint32_t rank, const AsyncArrival& a, const SharedClock& base,
                     Epoch parent) {
    MBarrier& b = c.block(rank).mbarriers[size_t(c.block(rank).mbarrier_at[a.barrier / 8])];
    if (b.pending == 0) c.fail("mbarrier " + b.name + " gets more arrivals than it was initialised for");
    b.arriving.ordered.add(base);
    b.arriving.ordered.add(parent);
    for (const Epoch& e : a.landed) b.arriving.add(e);
    --b.pending;
    c.complete_if_due(b);
  }
};

}  // namespace

void copy_async(uint32_t destination, const void* source, uint32_t bytes, uint32_t valid_bytes) {
  Cluster& c = cluster();
  c.maybe_yield("copy_async", source);
  destination = c.local(destination, "copy_async");
  if (reinterpret_cast<uintptr_t>(source) % bytes != 0 && valid_bytes > 0)
    c.fail("copy_async: the source is no multiple of " + std::to_string(bytes));
  if (valid_bytes > bytes) c.fail("copy_async: more valid bytes than bytes");
  if (valid_bytes > 0) c.check_previous(source, true, "cp.async");
  c.at(c.own_rank(), destination, bytes, bytes, "copy_async");
  Thread& t = c.self();
  auto op = std::make_unique<SmallCopy>();
  op->thread = c.running();
  op->rank = c.own_rank();
  op->destination = destination;
  op->bytes = bytes;
  op->valid = valid_bytes;
  op->source = static_cast<const uint8_t*>(source);
  op->number = ++t.copies;
  op->base = t.base;
  op->self = c.next_copy_epoch("cp.async");
  op->parent = c.epoch();
  t.copies_in_flight.push_back(t.copies);
  c.add_copy(std::move(op));
}

void copy_async_commit() {
  Thread& t = cluster().self();
  t.copy_groups.push_back(t.copies);
}

void copy_async_wait(uint32_t pending) {
  Cluster& c = cluster();
  c.maybe_yield("copy_async_wait");
  Thread& t = c.self();
  uint64_t last = 0;
  while (t.copy_groups.size() > pending) {
    last = t.copy_groups.front();
    c.wait(t.copy_waiters, {Waiting::For::copy, 0, 0}, [&] {
      for (const uint64_t n : t.copies_in_flight)
        if (n <= last) return false;
      return true;
    });
    t.copy_groups.erase(t.copy_groups.begin());
  }
  // From here on what they wrote is as if the thread had written it: TMA and WGMMA need its
  // fence_async_shared.
  std::vector<Epoch> known;
  std::erase_if(t.copies_landed, [&](const LandedCopy& copy) {
    if (copy.number > last) return false;
    known.push_back(copy.self);
    if (copy.number > t.copies_arrived)
      c.own_block().shadow.hand_over(copy.destination, copy.bytes, copy.self, c.epoch());
    return true;
  });
  if (!known.empty()) c.learn(known);
}

void copy_async_arrive(uint32_t barrier) {
  Cluster& c = cluster();
  c.maybe_yield("copy_async_arrive", barrier);
  barrier = c.local(barrier, "copy_async_arrive");
  Thread& t = c.self();
  MBarrier& b = c.mbarrier(c.own_rank(), barrier, "copy_async_arrive", false);
  t.copies_arrived = t.copies;
  std::vector<Epoch> landed;
  for (const LandedCopy& copy : t.copies_landed) landed.push_back(copy.self);
  if (t.copies_in_flight.empty()) {
    for (const Epoch& e : landed) b.arriving.add(e);
    return c.arrive(b);
  }
  t.copy_arrivals.push_back({barrier, t.copies_in_flight, std::move(landed)});
}

}  // namespace warpfold::hopper::emulator
