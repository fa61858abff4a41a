/* Warpfold's C interface: the kernels behind plain structures and pointers to device memory.
 *
 * Every call returns WF_OK or an error code and, where `message` is given, one sentence that says why. Nothing is
 * printed, allocated or waited for. Streams are cudaStream_t; null is the default stream.
 */
#ifndef WARPFOLD_H
#define WARPFOLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wf_status { WF_OK = 0, WF_INVALID_ARGUMENT = 1, WF_UNSUPPORTED = 2, WF_FAILED = 3 } wf_status;
typedef enum wf_type { WF_BF16 = 0, WF_F16 = 1, WF_I8 = 2, WF_I32 = 3 } wf_type;

/* D (M, N) = alpha A (M, K) B (N, K)^T + beta C (M, N); row-major, strides in elements from row to row.
 * beta = 0: C may be null and is not read. alpha = 0 or K = 0: A and B may be null. A and B have `type`, C and D
 * `output_type`: the same, or for WF_I8 WF_I32 (the exact sums), WF_BF16, WF_F16. row_scale (M) and column_scale (N)
 * multiply the products; null stands for ones. */
typedef struct wf_gemm_problem {
  wf_type type, output_type;
  int64_t m, n, k;
  const void *a, *b, *c;
  void* d;
  int64_t a_stride, b_stride, c_stride, d_stride;
  float alpha, beta;
  const float *row_scale, *column_scale;
} wf_gemm_problem;

/* tile: an index below wf_gemm_tile_count(), or -1 for the tile that Warpfold chooses. */
wf_status wf_gemm_can_run(const wf_gemm_problem* problem, char* message, size_t message_bytes);
wf_status wf_gemm_run(const wf_gemm_problem* problem, int tile, void* stream, char* message, size_t message_bytes);
/* The tile that would be chosen on a GPU of `multiprocessors`; -1 where the problem cannot run. */
int wf_gemm_choose(const wf_gemm_problem* problem, int multiprocessors);
int wf_gemm_tile_count(void);
const char* wf_gemm_tile_name(int tile);

#ifdef __cplusplus
}
#endif
#endif
