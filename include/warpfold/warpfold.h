/* Warpfold's C interface: the kernels behind plain structures and pointers to device memory.
 *
 * Every call returns WF_OK or an error code and, where `message` is given, one sentence that says why. Nothing is
 * printed, allocated or waited for. Streams are cudaStream_t; null is the default stream.
 *
 * A structure begins with its size: set it by `p.struct_bytes = sizeof p`. Later versions only append fields, for which
 * 0 means what it was before, so programs compiled against an older header keep working.
 */
#ifndef WARPFOLD_H
#define WARPFOLD_H

#include <stddef.h>
#include <stdint.h>

/* The library is libwarpfold.so.N of this N, which changes when a program compiled against an older header would break. */
#define WF_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

int wf_abi_version(void); /* of the library */

typedef enum wf_status { WF_OK = 0, WF_INVALID_ARGUMENT = 1, WF_UNSUPPORTED = 2, WF_FAILED = 3 } wf_status;
typedef enum wf_type {
  WF_BF16 = 0,
  WF_F16 = 1,
  WF_I8 = 2,
  WF_I32 = 3,
  WF_F32 = 4, /* as an operand of a product: rounded to TF32 */
  WF_F8_E4M3 = 5,
  WF_F8_E5M2 = 6
} wf_type;
typedef enum wf_activation {
  WF_IDENTITY = 0,
  WF_RELU = 1,
  WF_SILU = 2,
  WF_GELU_TANH = 3,
  WF_GELU_ERF = 4
} wf_activation;
/* How the rows of B (2N, K) of a gated product alternate: 2j gate and 2j + 1 up, or j gate and N + j up. */
typedef enum wf_gate { WF_NO_GATE = 0, WF_GATE_INTERLEAVED = 1, WF_GATE_CONCATENATED = 2 } wf_gate;

/* y = row_scale (M) * column_scale (N) * alpha * A (M, K) B (N, K)^T + row_bias (M) + bias (N)
 * D (M, N) = activation (y) + beta * C (M, N);  gated: activation (y of the gate) * (y of up) + beta * C (M, N)
 *
 * I8 operands may have zero points: A (i,k) - a_zero (i) and B (j,k) - b_zero (j) are multiplied, exactly. Their products
 * are found from A B^T and the sums over K of the rows of A and B, which the caller gives (wf_gemm_row_sums).
 * A result of I8 is D = saturate (round (y / output_scale) + output_zero), ties to even. row_amax (M) gets the largest |D|
 * of each row, before it is rounded or quantised.
 *
 * for each of `batches` matrices. Strides count elements, from row to row (column to column in column-major
 * matrices) and from batch to batch; a batch stride of 0 gives all batches the same matrix. C lies like D.
 * Null scales are ones, null biases zeros. beta = 0: C may be null and is not read. alpha = 0 or K = 0: A and B may be
 * null. Types: see wf_gemm_can_run. D must not overlap A or B, nor C unless it is C, with its strides: most overlaps are
 * refused, not all those of strided matrices with different strides. */
typedef struct wf_gemm_problem {
  size_t struct_bytes;
  wf_type a_type, b_type, output_type; /* of A, of B, of C and D */
  int64_t m, n, k, batches;
  const void *a, *b, *c;
  void* d;
  int64_t a_stride, b_stride, c_stride, d_stride;
  int64_t a_batch_stride, b_batch_stride, c_batch_stride, d_batch_stride;
  int32_t a_column_major, b_column_major, d_column_major;
  float alpha, beta;
  const float *row_scale, *column_scale;   /* in device memory, as the biases */
  int32_t one_row_scale, one_column_scale; /* the scale is a single number for all rows, all columns */
  const float *bias, *row_bias;
  wf_activation activation;
  wf_gate gate;
  int32_t fast_accumulation; /* fp8: do not sum each 128 of K in fp32 */
  /* As many bytes as wf_gemm_workspace says, or none: then a tile that needs none is taken. They must be 0 before the
   * first launch; each launch leaves them ready for the next. One workspace serves one stream. */
  void* workspace;
  int64_t workspace_bytes;
  /* In device memory; null zero points are zeros. b_zero needs a_sums, a_zero needs b_sums. */
  const int32_t *a_zero, *b_zero;   /* (M), (N) */
  int32_t one_a_zero, one_b_zero;   /* a single number for all rows */
  const int32_t *a_sums, *b_sums;   /* (batches, M), (batches, N); (M), (N) where the batch stride is 0 */
  const float* output_scale;        /* one number; null: 1 */
  const int32_t* output_zero;       /* one number from -128 to 127; null: 0 */
  float* row_amax;                  /* (batches, M): raised to the row's largest |D|; set it to 0 first */
} wf_gemm_problem;

/* What would be launched on a GPU of `multiprocessors`. */
typedef struct wf_gemm_plan {
  int32_t tile, blocks;
  int64_t workspace_bytes;
  double microseconds; /* as the cost model expects */
} wf_gemm_plan;

/* tile: an index below wf_gemm_tile_count(), or -1 for the tile that Warpfold chooses. */
/* Where TMA cannot take a matrix (not on multiples of 16 bytes; a major that WGMMA does not take), threads copy it: the
 * tiles whose names begin with copied, which take longer. The message of WF_OK then says why, and is empty otherwise. */
wf_status wf_gemm_can_run(const wf_gemm_problem* problem, char* message, size_t message_bytes);
/* Bytes of workspace with which the problem runs fastest. */
wf_status wf_gemm_workspace(const wf_gemm_problem* problem, int multiprocessors, int64_t* bytes, char* message,
                            size_t message_bytes);
wf_status wf_gemm_make_plan(const wf_gemm_problem* problem, int multiprocessors, int tile, wf_gemm_plan* plan,
                            char* message, size_t message_bytes);
wf_status wf_gemm_run(const wf_gemm_problem* problem, int tile, void* stream, char* message, size_t message_bytes);
int wf_gemm_tile_count(void);
const char* wf_gemm_tile_name(int tile);
/* sums (batches, rows) = sums over K of the rows of an I8 matrix (batches, rows, K), K contiguous, on any address. */
wf_status wf_gemm_row_sums(const int8_t* matrix, int64_t rows, int64_t k, int64_t batches, int64_t stride,
                           int64_t batch_stride, int32_t* sums, void* stream, char* message, size_t message_bytes);

/* y = row_scale (rows) * column_scale_g (N) * alpha * A (rows of group g, K) B_g (N, K)^T + bias_g (N)
 * D (rows of group g) = activation (y): groups of rows, each with a matrix of its own.
 *
 * A is (rows, K), D (rows, N), B (groups, N, K), all by rows. Which rows a group has stands in device memory and is read
 * when the product runs: `starts` (groups + 1), group g has the rows from starts[g] to starts[g + 1]; or `counts` (groups),
 * group g has counts[g] rows from g * row_step on. One of the two is null. Groups may be empty and must not overlap; rows
 * of D in no group are not written. BF16 and F16 with results of the same type, I8 with I32 (then there is
 * neither alpha, scale, bias nor activation) or BF16, F8_E4M3 with BF16.
 * With b_pointers the matrices (N, K) lie each at a pointer of its own, on multiples of 16 bytes; b is then not used. Such
 * products, and those whose A, B or D TMA cannot take, are copied by threads, which takes longer. */
typedef struct wf_gemm_grouped_problem {
  size_t struct_bytes;
  wf_type type, output_type;
  int64_t rows, n, k, groups;
  const void *a, *b;
  void* d;
  int64_t a_stride, b_stride, b_group_stride, d_stride;
  float alpha;
  const int32_t *starts, *counts;
  int64_t row_step;
  /* In device memory; null: ones and zeros. */
  const void* const* b_pointers;         /* (groups) */
  const float *row_scale, *column_scale; /* (rows); (groups, N), or (groups) with one_column_scale */
  int32_t one_column_scale;
  const float* bias; /* (groups, N) */
  wf_activation activation;
} wf_gemm_grouped_problem;

/* tile: as in wf_gemm_run; 128x128, 64x64 and, without scales, bias and activation, 128x192 are compiled. */
wf_status wf_gemm_grouped_can_run(const wf_gemm_grouped_problem* problem, char* message, size_t message_bytes);
wf_status wf_gemm_grouped_run(const wf_gemm_grouped_problem* problem, int tile, void* stream, char* message,
                              size_t message_bytes);

/* Formats of quantised weights: codes in blocks of 32 along K with an fp16 scale, WF_Q4_1 with an fp16 minimum, too. */
typedef enum wf_weight_type { WF_Q8_0 = 0, WF_Q4_0 = 1, WF_Q4_1 = 2 } wf_weight_type;

/* y = row_scale (M) * column_scale (N) * alpha * A (M, K) W (N, K)^T + bias (N);  D (M, N) = activation (y) + beta * C (M, N)
 *
 * with quantised weights W, packed by wf_gemm_weights_pack. A is BF16, C and D are BF16 or F32. K is a multiple of 32.
 * Null scales are ones, a null bias zeros. beta = 0: C may be null and is not read. alpha = 0 or K = 0: A and W may be
 * null. The weights must not be written by the kernel just before on the stream: they are read while it may still run. */
typedef struct wf_gemm_weights_problem {
  size_t struct_bytes;
  wf_weight_type weight_type;
  wf_type a_type, output_type;
  int64_t m, n, k;
  const void *a, *weights, *c; /* weights: packed, in device memory, on a multiple of 16 bytes */
  void* d;
  int64_t a_stride, c_stride, d_stride; /* elements from row to row */
  float alpha, beta;
  const float *row_scale, *column_scale, *bias; /* in device memory */
  wf_activation activation;
  void* workspace; /* as that of wf_gemm_problem, of wf_gemm_weights_make_plan's bytes */
  int64_t workspace_bytes;
} wf_gemm_weights_problem;

/* Bytes that W (N, K) takes when it is packed. */
wf_status wf_gemm_weights_packed_bytes(wf_weight_type type, int64_t n, int64_t k, int64_t* bytes, char* message,
                                       size_t message_bytes);
/* Packs W (N, K), `row_bytes` of GGUF blocks row by row, into `packed`; both in host memory. */
wf_status wf_gemm_weights_pack(wf_weight_type type, int64_t n, int64_t k, const void* rows, int64_t row_bytes, void* packed,
                               int64_t packed_bytes, char* message, size_t message_bytes);
/* tile: an index below wf_gemm_weights_tile_count(), or -1 for the tile that Warpfold chooses. */
wf_status wf_gemm_weights_can_run(const wf_gemm_weights_problem* problem, char* message, size_t message_bytes);
wf_status wf_gemm_weights_make_plan(const wf_gemm_weights_problem* problem, int multiprocessors, int tile,
                                    wf_gemm_plan* plan, char* message, size_t message_bytes);
wf_status wf_gemm_weights_run(const wf_gemm_weights_problem* problem, int tile, void* stream, char* message,
                              size_t message_bytes);
int wf_gemm_weights_tile_count(void);
const char* wf_gemm_weights_tile_name(int tile);

/* Which keys j a query i sees, with p = i + seqlen_k - seqlen_q. Causal: j <= p. Window: p - window_left <= j
 * <= p + window_right; a limit below 0 is none. */
typedef enum wf_mask { WF_NO_MASK = 0, WF_CAUSAL = 1, WF_WINDOW = 2 } wf_mask;

/* O = softmax (S) V for each query head of each sequence; query head h reads KV head h / (heads / kv_heads);
 * S = f (scale * Q K^T) - slope |p - j| + bias, where f (y) = softcap * tanh (y / softcap), or y with softcap
 * = 0.
 *
 * Tensors are (batches, rows, heads, head dim) with the head dim contiguous; strides count elements. Lengths,
 * in device memory, are optional: with q_starts (batches + 1) sequences are packed, b has the rows from
 * q_starts[b] to q_starts[b + 1], and batch strides are not used; with q_used (batches) only the first
 * q_used[b] rows of b count. seqlen_q and seqlen_k are then the longest. LSE (batches, heads, seqlen_q), or
 * (heads, all rows) of packed sequences, is the natural logarithm of the sum of exponentials; it may be null.
 * A row that sees no key has O = 0 and LSE = -inf. */
typedef struct wf_attention_problem {
  size_t struct_bytes;
  wf_type type, output_type; /* BF16, F16 or F8_E4M3; O: the same, of F8_E4M3 BF16, or F32 */
  int64_t batches, heads, kv_heads, seqlen_q, seqlen_k, head_dim, v_head_dim;
  const void *q, *k, *v;
  void* o;
  int64_t q_row_stride, k_row_stride, v_row_stride, o_row_stride;
  int64_t q_head_stride, k_head_stride, v_head_stride, o_head_stride;
  int64_t q_batch_stride, k_batch_stride, v_batch_stride, o_batch_stride;
  float* lse;
  int64_t lse_head_stride, lse_batch_stride;
  const int32_t *q_starts, *k_starts, *q_used, *k_used;
  float scale;
  wf_mask mask;
  /* As many bytes as wf_attention_workspace says, or none: then tiles are dealt in a fixed order. They must be 0 before
   * the first launch; each launch leaves them so. One workspace serves one stream. */
  void* workspace;
  int64_t workspace_bytes;
  /* The rest, left 0, changes nothing. */
  int64_t window_left, window_right;
  float softcap;
  const float*
      sink; /* (heads): one more score without a value, which O's denominator and LSE count; -inf is none */
  const float* alibi; /* (batches, heads): slopes */
  int64_t alibi_batch_stride;
  /* (batches, heads, seqlen_q, seqlen_k): BF16, F16 or F32, added to the scores; or, with bias_is_mask,
   * bytes, of which 0 hides the key. Strides may be 0. It is read element by element, at a cost. */
  const void* bias;
  wf_type bias_type;
  int bias_is_mask;
  int64_t bias_batch_stride, bias_head_stride, bias_row_stride, bias_key_stride;
  /* Of F8_E4M3, (batches, kv_heads): what the elements are to be multiplied with, above 0; null is 1, strides
   * may be 0. */
  const float *q_descale, *k_descale, *v_descale;
  int64_t descale_batch_stride, descale_head_stride;
} wf_attention_problem;

/* tile: an index below wf_attention_tile_count(), or -1 for the tile that Warpfold chooses. */
wf_status wf_attention_can_run(const wf_attention_problem* problem, char* message, size_t message_bytes);
/* Bytes of workspace with which the problem runs fastest. */
wf_status wf_attention_workspace(const wf_attention_problem* problem, int64_t* bytes, char* message, size_t message_bytes);
wf_status wf_attention_run(const wf_attention_problem* problem, int tile, void* stream, char* message,
                           size_t message_bytes);
int wf_attention_tile_count(void);
const char* wf_attention_tile_name(int tile);

#ifdef __cplusplus
}
#endif
#endif
