// Layouts on the device: the compile-time cases under nvcc, layouts as template arguments of device functions, a
// kernel over a configuration type, and the operations themselves in device code.
#include "hardware/static_cases.h"
#include "static_cases.h"

namespace warpfold::layout {

template <Layout layout>
__device__ int64_t fixed_offset(int64_t x) {
  return layout(x);
}

template <class Config>
__global__ void offsets_kernel(int64_t* out, Layout given, int64_t x) {
  out[0] = fixed_offset<Config::tile>(x);
  constexpr Layout local = Config::by_thread;
  out[1] = local(x);
  out[2] = given(x);
  const Verdict<Layout> v = compose(given, local);
  out[3] = v.ok() ? v.value(x) : -1;
}

void launch_offsets(int64_t* out, int64_t x) {
  offsets_kernel<static_cases::TileConfig><<<1, 1>>>(out, static_cases::nested, x);
}

}  // namespace warpfold::layout
