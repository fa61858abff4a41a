// The spectrogram against transformers' feature extractor (tests/reference/make_log_mel.py).
//
// Tolerance: values are a quarter of log10 of a power, at most 8 decades below the largest, so an amplitude
// counts down to 1e-4 of the largest. A sum of 400 products in float32 errs by 20 * 6e-8 = 1.2e-6 of the
// largest, 1.2e-2 of the smallest amplitude that counts: its power by 2.4e-2, its log10 by 1e-2, a quarter of
// that is 2.6e-3. The mean error is far smaller.
#include "warpfold/ops/log_mel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "support/expect_error.h"
#include "warpfold/formats/safetensors.h"

namespace warpfold::ops {
namespace {

using test::expect_error;

TEST(LogMel, EqualsTheFeatureExtractor) {
  const auto file =
      formats::Safetensors::open(std::string(WARPFOLD_SOURCE_DIR) + "/tests/ops/log_mel.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  std::vector<float> expected(150 * 80);
  std::memcpy(expected.data(), file->find("features")->data, expected.size() * sizeof(float));
  std::vector<float> signal;
  for (int n = 0; n < 16000; ++n) {
    const double t = n / 16000.0, turn = 2 * std::numbers::pi;
    signal.push_back(
        static_cast<float>(0.3 * std::sin(turn * (200 * t + 900 * t * t)) + 0.1 * std::sin(turn * 3000 * t)));
  }
  ThreadPool pool(2);
  auto log_mel = LogMel::create(80, pool);
  ASSERT_TRUE(log_mel) << log_mel.error().message;
  std::vector<float> features(3000 * 80);
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_TRUE(log_mel->run(signal, 3000, features, pool));
    double sum = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(features[i], expected[i], 2.6e-3) << "frame " << i / 80 << " frequency " << i % 80;
      sum += std::abs(features[i] - expected[i]);
    }
    EXPECT_LE(sum / static_cast<double>(expected.size()), 2e-5);
    for (std::size_t i = expected.size(); i < features.size(); ++i)
      ASSERT_EQ(features[i], features.back()) << "silence";
  }
}

TEST(LogMel, ImpossibleRequests) {
  constexpr auto kInvalid = ErrorCode::kInvalidArgument;
  ThreadPool pool(1);
  expect_error(LogMel::create(0, pool), kInvalid, {"0 mel"});
  expect_error(LogMel::create(201, pool), kInvalid, {"201 mel"});
  auto log_mel = LogMel::create(8, pool);
  ASSERT_TRUE(log_mel);
  const std::vector<float> samples(1601);
  std::vector<float> features(80);
  expect_error(log_mel->run(samples, 10, features, pool), kInvalid, {"1601 samples", "10 frames"});
  expect_error(log_mel->run(std::span(samples).first(5), 9, features, pool), kInvalid,
               {"9 frames", "80 values"});
  ASSERT_TRUE(log_mel->run({}, 10, features, pool)) << "silence";
  for (const float x : features) EXPECT_FLOAT_EQ(x, -1.5f);
}

}  // namespace
}  // namespace warpfold::ops
