#include "warpfold/ops/matmul.h"

#include <algorithm>

#include "ops/kernels.h"

namespace warpfold::ops {

void Activations::reshape(std::int64_t tokens, std::int64_t columns) {
  tokens_ = tokens;
  columns_ = columns;
  const auto n = static_cast<std::size_t>(tokens * columns);
  const auto groups = static_cast<std::size_t>(tokens * (columns / kGroup));
  if (values_.size() < n) values_.resize(n);
  if (q_.size() < n) q_.resize(n);
  if (scale_.size() < groups) {
    scale_.resize(groups);
    sum_.resize(groups);
    half_sum_.resize(groups * 2);
  }
}

void Activations::quantise(std::int64_t t) {
  const std::int64_t groups = columns_ / kGroup;
  matmul_kernels().quantise_row(row(t), columns_, q_.data() + t * columns_, scale_.data() + t * groups,
                                sum_.data() + t * groups, half_sum_.data() + t * groups * 2);
}

void Matmul::run(std::span<const MatmulTask> tasks, const Activations& x, ThreadPool& pool) {
  std::int64_t panels = 0;
  for (const MatmulTask& task : tasks) panels += task.weight->panels();
  // About eight chunks a thread even out their speeds; a chunk is at least one panel.
  const std::int64_t chunk = std::max<std::int64_t>(1, panels / (8 * pool.size()));
  const MatmulKernels& kernels = matmul_kernels();
  const QuantisedRows rows{x.q_.data(), x.scale_.data(), x.sum_.data(), x.half_sum_.data()};
  pool.parallel_for((panels + chunk - 1) / chunk, [&](std::int64_t c, int) {
    std::int64_t p = c * chunk;
    const std::int64_t last = std::min(p + chunk, panels);
    std::size_t i = 0;
    std::int64_t first = 0;  // panel at which task i begins
    for (; p < last; ++p) {
      while (p - first >= tasks[i].weight->panels()) first += tasks[i++].weight->panels();
      const MatmulTask& task = tasks[i];
      const std::int64_t n = (p - first) * kPanelRows;
      const PanelProduct product{task.weight->panel(p - first), x.columns(), x.tokens(), task.y + n, task.y_stride,
                                 static_cast<int>(std::min(kPanelRows, task.weight->rows() - n)), task.accumulate};
      if (task.weight->quantised()) kernels.quantised(task.weight->dtype(), product, rows);
      else kernels.floating(task.weight->dtype(), product, x.row(0));
    }
  });
}

}  // namespace warpfold::ops
