// TMA loads of tiles whose tensor map the library derives, compared byte for byte with the image that the
// tile's layout and swizzle predict; and the driver's verdict on tensor maps compared with the library's.
#pragma once

#include "support.h"

namespace device_check {

// ---- The driver's encoder, found at run time: the program starts without a driver library too.

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

inline Encode encoder() {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  if (entry == nullptr || found != cudaDriverEntryPointSuccess)
    throw std::runtime_error("cuTensorMapEncodeTiled not found");
  return reinterpret_cast<Encode>(entry);
}

// `base` is the address of element 0 of the allocation; t.address is relative to it.
inline CUresult encode_map(const hw::TensorMap& t, void* base, CUtensorMap& map) {
  static constexpr CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                                    CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
  const CUtensorMapDataType type = t.element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : t.element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                   : t.element_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                          : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  cuuint64_t size[hw::max_tma_rank] = {}, stride[hw::max_tma_rank] = {};
  cuuint32_t box[hw::max_tma_rank] = {}, step[hw::max_tma_rank] = {};
  for (int i = 0; i < hw::max_tma_rank; ++i) {
    size[i] = static_cast<cuuint64_t>(t.size[i]);
    box[i] = static_cast<cuuint32_t>(t.box[i]);
    step[i] = static_cast<cuuint32_t>(t.element_stride[i]);
    if (i > 0) stride[i - 1] = static_cast<cuuint64_t>(t.stride[i] * t.element_bytes);
  }
  return encoder()(&map, type, static_cast<cuuint32_t>(t.rank), static_cast<char*>(base) + t.address, size,
                   stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzles[static_cast<int>(t.swizzle)],
                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

struct BoxAt {
  int x[hw::max_tma_rank];
};

__global__ void __launch_bounds__(128) copy_kernel(const __grid_constant__ CUtensorMap map, int rank,
                                                   BoxAt at, int bytes, int box_bytes, uint8_t* image,
                                                   int* status) {
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t to = shared_address(shared), bar = to + static_cast<uint32_t>(bytes);  // behind the image
  if (to % 1024 != 0) __trap();
  for (int i = static_cast<int>(threadIdx.x); i < bytes; i += static_cast<int>(blockDim.x)) shared[i] = 0xEE;
  fence_async_proxy();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(box_bytes) : "memory");
#define WF_TMA(dims, coordinates)                                                                        \
  asm volatile("cp.async.bulk.tensor." dims                                                              \
               ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates           \
               "}], [%2];" ::"r"(to),                                                                    \
               "l"(&map), "r"(bar), "r"(at.x[0]), "r"(at.x[1]), "r"(at.x[2]), "r"(at.x[3]), "r"(at.x[4]) \
               : "memory")
    if (rank == 1) WF_TMA("1d", "%3");
    if (rank == 2) WF_TMA("2d", "%3,%4");
    if (rank == 3) WF_TMA("3d", "%3,%4,%5");
    if (rank == 4) WF_TMA("4d", "%3,%4,%5,%6");
    if (rank == 5) WF_TMA("5d", "%3,%4,%5,%6,%7");
#undef WF_TMA
  }
  // A box that never completes is reported, not waited for.
  uint32_t done = 0;
  const long long begin = clock64();
  while (done == 0 && clock64() - begin < 200000000ll)
    asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(bar)
                 : "memory");
  if (done == 0) *status = 1;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < bytes; i += static_cast<int>(blockDim.x))
    image[i] = shared[i];
}

struct CopyCase {
  std::string name;
  const char* global;
  hw::SharedTile tile;
  std::vector<int64_t> index;  // of the tile's first element, for each mode of the global layout
  bool graded = true;          // false: an observation
};

inline std::vector<CopyCase> copy_cases() {
  using M = hw::Major;
  static constexpr const char* mode_name[] = {"none", "32B", "64B", "128B"};
  std::vector<CopyCase> cases;
  for (int m = 0; m < 4; ++m) {
    const auto mode = static_cast<hw::SwizzleMode>(m);
    const std::string name = mode_name[m];
    cases.push_back({"16-bit K-major " + name,
                     "(192,256):(256,1)",
                     value(hw::canonical_tile(M::k, mode, 2, 64, 128)),
                     {64, 128}});
    cases.push_back({"16-bit MN-major " + name,
                     "(256,128):(1,256)",
                     value(hw::canonical_tile(M::mn, mode, 2, 128, 32)),
                     {128, 64}});
    cases.push_back({"8-bit K-major " + name,
                     "(192,256):(272,1)",
                     value(hw::canonical_tile(M::k, mode, 1, 64, 128)),
                     {64, 128}});
    cases.push_back({"32-bit K-major " + name,
                     "(192,128):(132,1)",
                     value(hw::canonical_tile(M::k, mode, 4, 64, 64)),
                     {64, 64}});
    // One span wide, and the box sticks out of the tensor in both directions.
    cases.push_back({"16-bit K-major past the end " + name,
                     "(100,120):(128,1)",
                     value(hw::canonical_tile(M::k, mode, 2, 64,
                                              hw::span_bytes(mode) / 2 < 16 ? 16 : hw::span_bytes(mode) / 2)),
                     {64, m == 0 ? 112 : 64}});
  }
  cases.push_back({"rank 1", "4096:1", {layout("256:1"), hw::swizzle_of(hw::SwizzleMode::none), 4}, {512}});
  cases.push_back({"rank 4",
                   "(64,96,(4,3)):(96,1,(6144,30720))",
                   {layout("(32,64,1):(64,1,0)"), hw::swizzle_of(hw::SwizzleMode::b128), 2},
                   {32, 32, 7}});
  cases.push_back({"rank 5",
                   "((16,4),96,(4,3)):((96,2048),1,(8192,40960))",
                   {layout("(32,64,1):(64,1,0)"), hw::swizzle_of(hw::SwizzleMode::b128), 2},
                   {32, 32, 7}});
  // Rows shorter than the swizzle's span are written a span apart.
  cases.push_back({"rows of 32 bytes under the 128-byte swizzle",
                   "(192,256):(256,1)",
                   {layout("(64,16):(64,1)"), hw::swizzle_of(hw::SwizzleMode::b128), 2},
                   {64, 32}});
  cases.push_back({"rows of 64 bytes under the 128-byte swizzle",
                   "(192,256):(256,1)",
                   {layout("(64,32):(64,1)"), hw::swizzle_of(hw::SwizzleMode::b128), 2},
                   {64, 32}});
  return cases;
}

inline void run_copy_case(const CopyCase& c) {
  const wl::Layout global = layout(c.global);
  const hw::TileMap plan = value(hw::tile_map(global, c.tile));
  const hw::TensorMap& t = plan.map;
  const int bytes = c.tile.element_bytes;
  std::vector<uint8_t> host(static_cast<std::size_t>(global.cosize() * bytes));
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>((i * 2654435761u >> 13) % 251);
  Buffer<uint8_t> source(host);
  CUtensorMap map{};
  if (const CUresult r = encode_map(t, source.get(), map); r != CUDA_SUCCESS)
    throw std::runtime_error("the driver refuses the tensor map: " + std::to_string(static_cast<int>(r)));
  BoxAt at{};
  std::vector<long long> box, size, coordinate;
  for (int i = 0; i < t.rank; ++i) {
    at.x[i] = static_cast<int>(c.index[static_cast<std::size_t>(plan.mode[i])] / plan.step[i] % t.size[i]);
    box.push_back(t.box[i]);
    size.push_back(t.size[i]);
    coordinate.push_back(at.x[i]);
  }
  // Up to the end of the last swizzle pattern that the tile touches.
  const int image_bytes = static_cast<int>((c.tile.layout.cosize() * bytes + 1023) / 1024 * 1024);
  Buffer<uint8_t> image(static_cast<std::size_t>(image_bytes));
  Buffer<int> status(1);
  CUDA(cudaFuncSetAttribute(copy_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, image_bytes + 16));
  copy_kernel<<<1, 128, static_cast<std::size_t>(image_bytes + 16)>>>(map, t.rank, at, image_bytes, static_cast<int>(t.box_bytes()),
                                                                      image.get(), status.get());
  finish_kernel("copy_kernel");
  const auto got = image.read();
  int wrong = 0;
  for (int64_t i = 0; i < c.tile.layout.size(); ++i) {
    const wl::IntTuple in_tile = c.tile.layout.coordinate(i);
    // Index along each mode of the global layout; outside, the box holds zeros.
    int64_t offset = 0;
    bool inside = true;
    for (int m = 0, leaf = 0; m < global.rank(); ++m) {
      const wl::Layout part = c.tile.layout.mode(m);
      int64_t x = 0, weight = 1;
      for (int k = 0; k < part.leaves(); ++k, ++leaf) {
        x += in_tile.value[leaf] * weight;
        weight *= part.shape[k];
      }
      x += c.index[static_cast<std::size_t>(m)];
      inside = inside && x < global.mode(m).size();
      offset += global.mode(m)(x);
    }
    const int64_t at_byte = c.tile.byte(i);
    for (int b = 0; b < bytes; ++b) {
      const int want = inside ? host[static_cast<std::size_t>(offset * bytes + b)] : 0;
      wrong += at_byte + b >= image_bytes || got[static_cast<std::size_t>(at_byte + b)] != want ? 1 : 0;
    }
  }
  emit("copies", Json()
                     .field("case", c.name)
                     .field("graded", c.graded)
                     .field("wrong", wrong)
                     .field("finished", status.read()[0] == 0)
                     .field("bytes", image_bytes)
                     .field("global", std::string(c.global))
                     .field("tile", text(c.tile.layout))
                     .list("size", size)
                     .list("box", box)
                     .list("at", coordinate));
}

// ---- The driver's opinion

inline void run_driver_cases() {
  Buffer<uint8_t> memory(1 << 20);
  const hw::TensorMap good{2,
                           2,
                           hw::SwizzleMode::b128,
                           0,
                           {4000, 4096, 1, 1, 1},
                           {1, 4096, 0, 0, 0},
                           {64, 128, 1, 1, 1},
                           {1, 1, 1, 1, 1}};
  const auto test = [&](const char* name, const hw::TensorMap& t, bool graded = true) {
    CUtensorMap map{};
    const CUresult r = encode_map(t, memory.get(), map);
    const hw::Why why = hw::check(t);
    const bool accepted = r == CUDA_SUCCESS, predicted = why.rule == hw::Rule::none;
    emit("driver", Json()
                       .field("case", std::string(name))
                       .field("graded", graded)
                       .field("wrong", accepted == predicted ? 0 : 1)
                       .field("driver_accepts", accepted)
                       .field("library_accepts", predicted)
                       .field("reason", std::string(hw::sentence(why).view())));
  };
  hw::TensorMap t = good;
  test("2D, 128B", t);
  for (const int64_t a : {8, 16, 1}) {
    t = good;
    t.address = a;
    test(("address + " + std::to_string(a)).c_str(), t);
  }
  for (const int64_t s : {4095, 4088, 4092}) {
    t = good;
    t.stride[1] = s;
    test(("row stride " + std::to_string(s)).c_str(), t);
  }
  t = good;
  t.stride[1] = 0;
  test("row stride 0", t, false);
  t = good;
  t.stride[1] = 1024;
  test("rows overlap", t, false);
  t = good;
  t.stride[1] = 8;
  test("row stride 16 bytes", t, false);
  t = good;
  t.stride[1] = (int64_t{1} << 39) - 8;
  test("row stride just below 2^40 bytes", t);
  t = good;
  t.stride[1] = int64_t{1} << 39;
  test("row stride 2^40 bytes", t);
  for (const int64_t s : {int64_t{0}, int64_t{1} << 32, (int64_t{1} << 32) + 1}) {
    t = good;
    t.size[1] = s;
    test(("rows " + std::to_string(s)).c_str(), t);
  }
  for (const int64_t b : {0, 1, 256, 257}) {
    t = good;
    t.box[1] = b;
    test(("box rows " + std::to_string(b)).c_str(), t);
  }
  for (const int64_t b : {4, 8, 12, 32, 64, 72, 128}) {
    for (int m = 0; m < 4; ++m) {
      t = good;
      t.box[0] = b;
      t.swizzle = static_cast<hw::SwizzleMode>(m);
      test(("box columns " + std::to_string(b) + ", span " + std::to_string(hw::span_bytes(t.swizzle)))
               .c_str(),
           t);
    }
  }
  t = good;
  t.swizzle = hw::SwizzleMode::none;
  t.box[0] = 256;
  test("box columns 256, none", t);
  for (const int64_t s : {0, 1, 8, 9}) {
    t = good;
    t.element_stride[1] = s;
    test(("element stride " + std::to_string(s)).c_str(), t);
  }
  t = good;
  t.box[0] = t.box[1] = 256;
  t.swizzle = hw::SwizzleMode::none;
  t.element_bytes = 8;
  t.stride[1] = 4096;
  test("box of 512 KiB", t);
  t.element_bytes = 4;
  test("box of 256 KiB", t, false);
  t.element_bytes = 2;
  test("box of 128 KiB", t);
  t = good;
  t.rank = 1;
  test("rank 1", t);
  t = good;
  t.rank = 5;
  for (int i = 2; i < 5; ++i) {
    t.size[i] = 4;
    t.stride[i] = t.stride[i - 1] * t.size[i - 1];
  }
  t.size[1] = 64;
  t.stride[2] = 64 * 4096;
  t.stride[3] = 4 * 64 * 4096;
  t.stride[4] = 16 * 64 * 4096;
  test("rank 5", t);
  t.stride[4] = 24;
  test("rank 5, stride 4 is 48 bytes", t, false);
  t.stride[4] = 20;
  test("rank 5, stride 4 is 40 bytes", t);
  for (const int e : {1, 4, 8}) {
    t = good;
    t.element_bytes = e;
    t.box[0] = 128 / e;
    test(("element of " + std::to_string(e) + " bytes").c_str(), t);
  }
}

}  // namespace device_check
