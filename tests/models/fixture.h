// A tiny model from tests/models/fixtures with what PyTorch computed with it
// (tests/reference/make_fixtures.py), and the comparison.
//
// Tolerance: the reference is float64, the engine float32 with vectors, e = 6e-8. A sum of K <= 64 products
// adds about sqrt(K) e of its size, a layer some ten such sums one after another, and post-norm or final norm
// pass errors on undiminished: sqrt(10 layers) * 8 * 6e-8 = 1.5e-6 of the states' size; the error function
// adds up to 5e-7. An order of magnitude for scores that the soft-max widens: rms(x - y) <= 2e-5 rms(y), a
// fifth of the 1e-4 that the smallest mistake worth catching, tanh in place of erf in GELU, costs.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "warpfold/core/thread_pool.h"
#include "warpfold/formats/safetensors.h"

namespace warpfold::test {

inline std::string fixture_path(const std::string& name) {
  return std::string(WARPFOLD_SOURCE_DIR) + "/tests/models/fixtures/" + name;
}

inline ThreadPool& two_threads() {
  static ThreadPool pool(2);
  return pool;
}

class Fixture {
 public:
  explicit Fixture(const std::string& name) {
    const auto file = formats::Safetensors::open(fixture_path(name) + "/reference.safetensors");
    if (!file) {
      ADD_FAILURE() << file.error().message;
      return;
    }
    for (const auto& [tensor, view] : file->tensors()) {
      if (view.dtype == DType::kI32)
        copy(view, ints_[tensor]);
      else
        copy(view, floats_[tensor]);
    }
  }

  const std::vector<std::int32_t>& ints(const std::string& name) const { return ints_.at(name); }
  std::vector<std::int64_t> lengths(const std::string& name) const {
    const auto& v = ints_.at(name);
    return {v.begin(), v.end()};
  }
  const std::vector<float>& floats(const std::string& name) const {
    const auto it = floats_.find(name);
    if (it == floats_.end()) ADD_FAILURE() << "no tensor " << name;
    return it == floats_.end() ? empty_ : it->second;
  }

  // x is the tensor `name` of the reference.
  void expect_equal(std::span<const float> x, const std::string& name) const {
    expect_close(x, floats(name), name);
  }
  static void expect_close(std::span<const float> x, std::span<const float> y, const std::string& what) {
    ASSERT_EQ(x.size(), y.size()) << what;
    double error = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double e = static_cast<double>(x[i]) - static_cast<double>(y[i]);
      error += e * e;
      size += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    }
    EXPECT_TRUE(std::sqrt(error / size) <= 2e-5) << what << ": relative error " << std::sqrt(error / size);
  }

 private:
  template <class T>
  static void copy(const TensorView& view, std::vector<T>& out) {
    out.resize(static_cast<std::size_t>(view.size()));
    std::memcpy(out.data(), view.data, static_cast<std::size_t>(view.bytes()));
  }
  std::map<std::string, std::vector<std::int32_t>> ints_;
  std::map<std::string, std::vector<float>> floats_;
  std::vector<float> empty_;
};

}  // namespace warpfold::test
