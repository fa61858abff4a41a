// The default model's file, where `models/` in the source tree holds it: what is in it, and that its rows
// convert to numbers that weights can have.
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "warpfold/formats/blocks.h"
#include "warpfold/formats/gguf.h"

namespace warpfold::formats {
namespace {

constexpr const char* kModel = WARPFOLD_SOURCE_DIR "/models/SmolLM2-135M-Instruct.Q4_1.gguf";

TEST(RealModel, ReadsTheDefaultModel) {
  if (!std::filesystem::exists(kModel)) GTEST_SKIP() << kModel << " is absent; `make demo` fetches it";
  auto file = Gguf::open(kModel);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->string("general.architecture"), "llama");
  EXPECT_EQ(file->integer("llama.block_count"), 30);
  EXPECT_EQ(file->integer("llama.attention.head_count_kv"), 3);
  EXPECT_EQ(file->strings("tokenizer.ggml.tokens").value().size(), 49152u);
  EXPECT_EQ(file->strings("tokenizer.ggml.tokens").value()[504], "The");
  EXPECT_EQ(file->integers("tokenizer.ggml.token_type").value().size(), 49152u);
  ASSERT_EQ(file->tensors().size(), 272u);  // 30 layers of 9, embeddings, last norm

  const TensorView* embeddings = file->find("token_embd.weight");
  ASSERT_NE(embeddings, nullptr);
  EXPECT_EQ(embeddings->rows(), 49152);
  EXPECT_EQ(embeddings->columns(), 576);

  // Weights of a trained model: finite, small, and not all alike.
  for (const auto& [name, view] : file->tensors()) {
    std::vector<float> row(static_cast<std::size_t>(view.columns()));
    const auto row_bytes = static_cast<std::size_t>(view.bytes() / view.rows());
    for (const std::int64_t r : {std::int64_t{0}, view.rows() / 2, view.rows() - 1}) {
      const std::span bytes(view.data + static_cast<std::size_t>(r) * row_bytes, row_bytes);
      ASSERT_TRUE(dequantize_row(view.dtype, bytes, row)) << name;
      double sum = 0, squares = 0;
      for (const float x : row) sum += x, squares += double{x} * x;
      const double mean = sum / static_cast<double>(row.size());
      EXPECT_TRUE(std::isfinite(squares)) << name;
      EXPECT_LT(squares / static_cast<double>(row.size()), 1000.0) << name;
      EXPECT_GT(squares / static_cast<double>(row.size()) - mean * mean, 0.0) << name;
    }
  }
}

}  // namespace
}  // namespace warpfold::formats
