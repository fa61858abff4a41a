// y = W x for packed weights: the linear layers of a model on the CPU.
//
// Float weights multiply float activations. Block-quantised weights multiply activations quantised to int8 by
// groups of 32 (scale = max|x| / 127, round to nearest even); integer sums are exact, so the only error beyond
// fp32 rounding is that of the activations: |error in x| <= max|x| / 254 in each group. A group with a NaN or an
// infinity makes the outputs NaN.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warpfold/core/thread_pool.h"
#include "warpfold/ops/packed_matrix.h"

namespace warpfold::ops {

// Inputs x (T, K) of one or more linear layers, and room for their quantised form. Reused from call to call.
class Activations {
 public:
  // Makes room for T tokens of K values. Grows only.
  void reshape(std::int64_t tokens, std::int64_t columns);

  std::int64_t tokens() const { return tokens_; }
  std::int64_t columns() const { return columns_; }
  float* row(std::int64_t t) { return values_.data() + t * columns_; }  // (K)
  const float* row(std::int64_t t) const { return values_.data() + t * columns_; }

  // Fills the quantised form of row t; K must be a multiple of 32.
  void quantise(std::int64_t t);

 private:
  friend class Matmul;
  std::int64_t tokens_ = 0, columns_ = 0;
  std::vector<float> values_;           // (T, K)
  std::vector<std::int8_t> q_;          // (T, K)
  std::vector<float> scale_, sum_;      // (T, K / 32)
  std::vector<std::int32_t> half_sum_;  // (T, K / 32, 2)
};

struct MatmulTask {
  const PackedMatrix* weight;  // (N, K)
  float* y;                    // (T, N) with stride y_stride
  std::int64_t y_stride;
  bool accumulate = false;     // y += W x
};

class Matmul {
 public:
  // Runs all tasks over the same input in one parallel loop. When a weight is quantised, every row of x must have
  // been quantised since it was last written.
  static void run(std::span<const MatmulTask> tasks, const Activations& x, ThreadPool& pool);
};

}  // namespace warpfold::ops
