// A tiny random checkpoint with what the float64 reference says of it (tests/reference/make_tiny.py writes both),
// and the few numbers that compare logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "warpfold/core/thread_pool.h"
#include "warpfold/formats/safetensors.h"
#include "warpfold/models/decoder.h"

namespace warpfold::test {

struct Reference {
  std::vector<std::int32_t> tokens;            // (T)
  std::int64_t vocab = 0;
  std::vector<double> exact, kv_f16, kv_int8;  // (T, vocab): by definition; with the engine's roundings

  std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
  const std::vector<double>& rounded(models::KvType kv) const { return kv == models::KvType::kF16 ? kv_f16 : kv_int8; }
};

inline std::string tiny_path(const std::string& file) { return std::string(WARPFOLD_TINY_DIR) + "/" + file; }

// NAME.gguf or the directory NAME.hf.
inline std::string checkpoint_path(const std::string& name) {
  const std::string gguf = tiny_path(name + ".gguf");
  return std::filesystem::exists(gguf) ? gguf : tiny_path(name + ".hf");
}

inline Reference load_reference(const std::string& name) {
  Reference reference;
  const auto file = formats::Safetensors::open(tiny_path(name + ".ref.safetensors"));
  if (!file) {
    ADD_FAILURE() << file.error().message;
    return reference;
  }
  const auto read = [&](const char* tensor, auto& out) {
    const TensorView* view = file->find(tensor);
    if (!view) {
      ADD_FAILURE() << name << ": no tensor " << tensor;
      return;
    }
    out.resize(static_cast<std::size_t>(view->size()));
    std::memcpy(out.data(), view->data, static_cast<std::size_t>(view->bytes()));
    reference.vocab = view->columns();
  };
  read("tokens", reference.tokens);
  read("exact", reference.exact);
  read("kv_f16", reference.kv_f16);
  read("kv_int8", reference.kv_int8);
  return reference;
}

inline ThreadPool& two_threads() {
  static ThreadPool pool(2);
  return pool;
}

inline models::KvCachePtr make_cache(const models::Decoder& decoder, std::int64_t capacity, models::KvType kv) {
  auto cache = decoder.make_cache(capacity, kv);
  if (cache) return std::move(*cache);
  ADD_FAILURE() << cache.error().message;
  return {};
}

// Appends tokens and returns the logits of each of them, (T, vocab).
inline std::vector<float> run(const models::Decoder& decoder, std::span<const std::int32_t> tokens,
                              models::KvCache& cache, ThreadPool& pool = two_threads()) {
  std::vector<float> logits(tokens.size() * static_cast<std::size_t>(decoder.info().vocab), NAN);
  const Status status =
      decoder.forward(tokens, cache, logits, static_cast<std::int64_t>(tokens.size()), pool);
  EXPECT_TRUE(status) << status.error().message;
  return logits;
}

// Root mean square and largest magnitude of a - b over the common length; infinite when a holds a NaN.
struct Distance {
  double rms = 0, max = 0;
};
template <class A, class B>
Distance distance(std::span<const A> a, std::span<const B> b) {
  Distance d;
  const std::size_t size = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < size; ++i) {
    const double e = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (std::isnan(e)) return {INFINITY, INFINITY};
    d.rms += e * e;
    d.max = std::max(d.max, e);
  }
  d.rms = size ? std::sqrt(d.rms / static_cast<double>(size)) : 0;
  return d;
}

}  // namespace warpfold::test
