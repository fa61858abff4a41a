#include "warpfold/ops/log_mel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace warpfold::ops {
namespace {

constexpr float kFloor = 1e-10f;

// Slaney's scale: linear up to 1000 Hz, where it reaches 15, logarithmic beyond, 27 mels for a factor of 6.4.
double mel_of(double hertz) {
  return hertz < 1000 ? 3 * hertz / 200 : 15 + 27 * std::log(hertz / 1000) / std::log(6.4);
}
double hertz_of(double mel) {
  return mel < 15 ? 200 * mel / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
}

}  // namespace

Result<LogMel> LogMel::create(std::int64_t mels, ThreadPool& pool) {
  if (mels < 1 || mels > 200)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a spectrogram of {} mel frequencies is not possible; 1 to 200 are", mels));
  LogMel out;
  out.mels_ = mels;
  std::vector<float> rows(static_cast<std::size_t>(2 * kBins * kWindow));
  for (std::int64_t f = 0; f < kBins; ++f)
    for (std::int64_t n = 0; n < kWindow; ++n) {
      const double turn = 2 * std::numbers::pi / kWindow,
                   window = (1 - std::cos(turn * static_cast<double>(n))) / 2;
      const double angle = turn * static_cast<double>(f * n % kWindow);
      rows[static_cast<std::size_t>(f * kWindow + n)] = static_cast<float>(window * std::cos(angle));
      rows[static_cast<std::size_t>((kBins + f) * kWindow + n)] =
          static_cast<float>(window * std::sin(angle));
    }
  TensorView view{
      reinterpret_cast<const std::byte*>(rows.data()), DType::kF32, 2, {2 * kBins, kWindow, 1, 1}};
  WF_TRY(out.transform_, PackedMatrix::pack(view, out.arena_, pool));

  out.triangles_.resize(static_cast<std::size_t>(mels * kBins));
  const double step = mel_of(kRate / 2.0) / static_cast<double>(mels + 1);
  for (std::int64_t m = 0; m < mels; ++m) {
    const double low = hertz_of(step * static_cast<double>(m)),
                 middle = hertz_of(step * static_cast<double>(m + 1)),
                 high = hertz_of(step * static_cast<double>(m + 2));
    for (std::int64_t f = 0; f < kBins; ++f) {
      const double hertz = static_cast<double>(f) * kRate / kWindow;
      const double height =
          std::max(0.0, std::min((hertz - low) / (middle - low), (high - hertz) / (high - middle)));
      out.triangles_[static_cast<std::size_t>(m * kBins + f)] = static_cast<float>(height * 2 / (high - low));
    }
  }
  return out;
}

Status LogMel::run(std::span<const float> samples, std::int64_t frames, std::span<float> out,
                   ThreadPool& pool) {
  const auto count = static_cast<std::int64_t>(samples.size());
  if (count > frames * kHop)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} samples are more than {} frames of {}", count, frames, kHop));
  if (frames < 2 || static_cast<std::int64_t>(out.size()) != frames * mels_)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} frames of {} frequencies do not fit {} values", frames, mels_, out.size()));
  const std::int64_t length = frames * kHop, half = kWindow / 2;
  const auto sample = [&](std::int64_t i) {  // mirrored at both ends, silent after the samples
    if (i < 0) i = -i;
    if (i >= length) i = 2 * (length - 1) - i;
    return i < count ? samples[static_cast<std::size_t>(i)] : 0.0f;
  };
  // Frames that begin after the last sample are silent.
  const std::int64_t heard = std::min(frames, (count + half + kHop - 1) / kHop);
  frames_.reshape(heard, kWindow);
  spectrum_.resize(static_cast<std::size_t>(heard * 2 * kBins));
  pool.parallel_for(heard, [&](std::int64_t t, int) {
    for (std::int64_t n = 0; n < kWindow; ++n) frames_.row(t)[n] = sample(t * kHop + n - half);
  });
  const MatmulTask task{&transform_, spectrum_.data(), 2 * kBins};
  Matmul::run({&task, 1}, frames_, pool);
  std::fill(out.begin(), out.end(), std::log10(kFloor));
  pool.parallel_for(heard, [&](std::int64_t t, int) {
    float* row = spectrum_.data() + t * 2 * kBins;
    for (std::int64_t f = 0; f < kBins; ++f) row[f] = row[f] * row[f] + row[kBins + f] * row[kBins + f];
    for (std::int64_t m = 0; m < mels_; ++m) {
      const float* triangle = triangles_.data() + m * kBins;
      float energy = 0;
      for (std::int64_t f = 0; f < kBins; ++f) energy += triangle[f] * row[f];
      out[static_cast<std::size_t>(t * mels_ + m)] = std::log10(std::max(energy, kFloor));
    }
  });
  const float largest = *std::max_element(out.begin(), out.end());
  for (float& y : out) y = (std::max(y, largest - 8) + 4) / 4;
  return {};
}

}  // namespace warpfold::ops
