// Two passes over a row of logits: the blocks' maxima, then the sum of exponentials. The row stays in the
// second-level cache between them.
#include "ops/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/logits.cpp"
#include "hwy/foreach_target.h"
// After foreach_target, as Highway asks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "ops/logit_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace warpfold::ops {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using VFloats = hn::Vec<Floats>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(Floats()));
constexpr std::int64_t kSums = 4;  // chains of additions that run side by side
static_assert(kLogitBlock % (kSums * kLanes) == 0);
constexpr float kNegInf = -std::numeric_limits<float>::infinity();

// Calls body(block, logits) with kLogitBlock logits each; the last block is filled up with -inf, which
// changes neither a maximum nor a sum of exponentials.
template <class Body>
HWY_INLINE void for_blocks(const float* x, std::int64_t n, Body body) {
  const std::int64_t whole = n / kLogitBlock;
  for (std::int64_t b = 0; b < whole; ++b) body(b, x + b * kLogitBlock);
  if (whole * kLogitBlock == n) return;
  HWY_ALIGN float rest[kLogitBlock];
  std::fill(std::copy(x + whole * kLogitBlock, x + n, rest), rest + kLogitBlock, kNegInf);
  body(whole, rest);
}

LogitSummary summarise(const float* x, std::int64_t n, float* maxima) {
  const Floats d;
  const VFloats top = hn::Set(d, std::numeric_limits<float>::max());
  auto fine = hn::Le(hn::Zero(d), top);  // in every lane
  float largest = kNegInf;
  for_blocks(x, n, [&](std::int64_t block, const float* p) {
    VFloats most = hn::Set(d, kNegInf);
    for (std::int64_t i = 0; i < kLogitBlock; i += kLanes) {
      const VFloats v = hn::LoadU(d, p + i);
      fine = hn::And(fine, hn::Le(v, top));  // false for a NaN
      most = hn::Max(most, v);
    }
    maxima[block] = hn::GetLane(hn::MaxOfLanes(d, most));
    largest = std::max(largest, maxima[block]);
  });
  if (!hn::AllTrue(d, fine)) return {largest, 0, false};
  if (largest == kNegInf) return {largest, 0, true};
  double total = 0;
  const VFloats above = hn::Set(d, largest);
  for_blocks(x, n, [&](std::int64_t, const float* p) {
    VFloats sums[kSums];
    for (std::int64_t s = 0; s < kSums; ++s)
      sums[s] = hn::Exp(d, hn::Sub(hn::LoadU(d, p + s * kLanes), above));
    for (std::int64_t i = kSums * kLanes; i < kLogitBlock; i += kSums * kLanes)
      for (std::int64_t s = 0; s < kSums; ++s)
        sums[s] = hn::Add(sums[s], hn::Exp(d, hn::Sub(hn::LoadU(d, p + i + s * kLanes), above)));
    const VFloats sum = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  });
  return {largest, std::log(total), true};
}

extern const LogitKernels kLogitKernels;
const LogitKernels kLogitKernels{summarise};

}  // namespace HWY_NAMESPACE
}  // namespace warpfold::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace warpfold::ops {

const LogitKernels& logit_kernels(Simd level) { return *WARPFOLD_PICK(kLogitKernels, level); }

LogitSummary summarise_logits(const float* x, std::int64_t n, float* maxima) {
  return logit_kernels().summarise(x, n, maxima);
}

}  // namespace warpfold::ops
#endif
