// Launches row sums on the current device.
#include "kernels/device.h"
#include "normalise.h"
#include "warpfold/kernels/gemm/row_sums_kernel.h"

namespace warpfold::kernels::gemm {

Status row_sums(const RowSums& p, void* stream) {
  WF_CHECK(check_row_sums(p));
  if (p.rows == 0 || p.batches == 0) return {};
  WF_TRY(const int count, multiprocessors("row sums", {{p.k > 0 ? p.matrix : nullptr, "the matrix"}, {p.sums, "sums"}}));
  const int64_t work = (p.rows * p.batches + row_sums_threads / 32 - 1) / (row_sums_threads / 32);
  return launch_row_sums(p, int(std::min<int64_t>(work, 8 * count)), stream);
}

}  // namespace warpfold::kernels::gemm
