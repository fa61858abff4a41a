// The vocabulary in which kernels are written: one small function ("atom") for each instruction of the chip.
// nvcc compiles the atoms to inline PTX for sm_90a; any other compiler takes the emulator, under which the same kernel
// source is ordinary C++ (docs/emulator.md). The inline namespace keeps both builds of a kernel apart at link time.
#pragma once

#include "warpfold/hopper/types.h"

#if defined(__CUDACC__)
#define WF_TARGET on_device
#define WF_ATOM __device__ __forceinline__
// WF_KERNEL(threads[, blocks]): threads of a block, and blocks that fit a multiprocessor.
#define WF_KERNEL(...) WF_KERNEL_BOUNDS(__VA_ARGS__, 1)
#define WF_KERNEL_BOUNDS(threads, blocks, ...) __global__ void __launch_bounds__(threads, blocks)
#define WF_PARAM const __grid_constant__
#define WF_UNROLL _Pragma("unroll")
#include "warpfold/hopper/device/atoms.h"
#else
#define WF_TARGET emulated
#define WF_ATOM inline
#define WF_KERNEL(...) void
#define WF_PARAM const
#define WF_UNROLL
#include "warpfold/hopper/emulator/atoms.h"
#endif
