// The spectrogram that Whisper hears: log-mel energies of 25 ms frames, 10 ms apart, of a signal at 16 kHz.
//
//   power[t][f] = |sum_n w[n] x[160 t + n - 200] exp(-2 pi i f n / 400)|^2,  n < 400, f <= 200, w Hann's
//   window; x is mirrored
//                 at its ends
//   mel[t][m]   = sum_f triangle_m(f) power[t][f]     triangles evenly spaced on Slaney's mel scale, each of
//   unit area y           = log10(max(mel, 1e-10));  y = (max(y, max over all of y - 8) + 4) / 4
// The transform is a product with a matrix of 402 rows, which the packed products do at full speed. (Radford
// et al. 2022)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/ops/matmul.h"
#include "warpfold/ops/packed_matrix.h"

namespace warpfold::ops {

class LogMel {
 public:
  static constexpr std::int64_t kRate = 16000, kHop = 160, kWindow = 400, kBins = kWindow / 2 + 1;

  // Errors: kInvalidArgument for mels outside 1 to 200.
  static Result<LogMel> create(std::int64_t mels, ThreadPool& pool);

  // out (frames, mels) of a signal that silence follows. Errors: kInvalidArgument for more samples than
  // frames * 160, or an out of another size.
  Status run(std::span<const float> samples, std::int64_t frames, std::span<float> out, ThreadPool& pool);

 private:
  LogMel() = default;

  WeightArena arena_;
  PackedMatrix transform_;  // (2 * kBins, kWindow): cosines, then sines, times the window
  std::int64_t mels_ = 0;
  std::vector<float> triangles_;  // (mels, kBins)
  Activations frames_;            // (T, kWindow)
  std::vector<float> spectrum_;   // (T, 2 * kBins)
};

}  // namespace warpfold::ops
