// What the host does for a kernel: tensor maps and launches. Nothing here allocates or synchronises.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <string>
#include <type_traits>

#include "warpfold/core/error.h"
#include "warpfold/hopper/types.h"
#include "warpfold/layout/hardware/tma.h"

namespace warpfold::hopper {
inline namespace WF_TARGET {

namespace ptx {

template <class T>
constexpr CUtensorMapDataType tensor_map_type() {
  if constexpr (std::is_same_v<T, bf16>) return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  else if constexpr (std::is_same_v<T, f16>) return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  else if constexpr (std::is_same_v<T, tf32>) return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  else if constexpr (std::is_same_v<T, float>) return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  else if constexpr (std::is_same_v<T, int32_t>) return CU_TENSOR_MAP_DATA_TYPE_INT32;
  else if constexpr (sizeof(T) == 1) return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  else if constexpr (sizeof(T) == 2) return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  else return CU_TENSOR_MAP_DATA_TYPE_UINT32;
}

// The driver's encoder, found at run time: a program that never launches needs no driver library.
inline PFN_cuTensorMapEncodeTiled_v12000 tensor_map_encoder() {
  static const auto encoder = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found) !=
            cudaSuccess ||
        found != cudaDriverEntryPointSuccess)
      entry = nullptr;
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(entry);
  }();
  return encoder;
}

inline Status status(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return {};
  return fail(ErrorCode::kUnsupported, std::string(what) + ": " + cudaGetErrorString(e));
}

}  // namespace ptx

// Encodes a tensor map over the memory at `base`. Errors: a rule of tensor maps that `shape` or `base` breaks.
template <class T>
Result<TensorMap> make_tensor_map(const T* base, const layout::hardware::TensorMap& shape) {
  layout::hardware::TensorMap s = shape;
  s.address = int64_t(reinterpret_cast<uintptr_t>(base));
  s.element_bytes = int(sizeof(T));
  if (const auto why = layout::hardware::check(s); why.rule != layout::hardware::Rule::none)
    return fail(ErrorCode::kInvalidArgument, "tensor map: " + std::string(layout::hardware::sentence(why).view()));
  cuuint64_t size[5], stride[5];
  cuuint32_t box[5], step[5];
  for (int i = 0; i < s.rank; ++i) {
    size[i] = cuuint64_t(s.size[i]);
    box[i] = cuuint32_t(s.box[i]);
    step[i] = cuuint32_t(s.element_stride[i]);
    if (i > 0) stride[i - 1] = cuuint64_t(s.stride[i]) * sizeof(T);
  }
  static constexpr CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                                    CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
  const auto encode = ptx::tensor_map_encoder();
  if (encode == nullptr) return fail(ErrorCode::kUnsupported, "the CUDA driver has no cuTensorMapEncodeTiled");
  TensorMap map;
  const CUresult r = encode(&map, ptx::tensor_map_type<T>(), cuuint32_t(s.rank), const_cast<T*>(base), size, stride,
                            box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzles[int(s.swizzle)],
                            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (r != CUDA_SUCCESS)
    return fail(ErrorCode::kInvalidArgument, "cuTensorMapEncodeTiled refuses the tensor map: error " + std::to_string(r));
  return map;
}

// Launches kernel(args...). Errors are those of the launch; what happens in the kernel shows at a later call.
template <class... Parameters, class... Arguments>
Status launch(const Launch& l, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (l.shared_bytes > 48 * 1024)
    WF_CHECK(ptx::status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, l.shared_bytes),
                         "shared memory of a launch"));
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (l.cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {unsigned(l.cluster), 1, 1};
  }
  if (l.overlap_previous) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = unsigned(l.blocks);
  config.blockDim = unsigned(l.threads);
  config.dynamicSmemBytes = size_t(l.shared_bytes);
  config.stream = static_cast<cudaStream_t>(l.stream);
  config.attrs = attributes;
  config.numAttrs = count;
  return ptx::status(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), "launch");
}

}  // namespace WF_TARGET
}  // namespace warpfold::hopper
