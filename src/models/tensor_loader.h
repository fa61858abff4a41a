// Finds tensors by name in a GGUF file or a safetensors set, checks their shapes, converts or packs them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/core/thread_pool.h"
#include "warpfold/formats/gguf.h"
#include "warpfold/formats/safetensors.h"
#include "warpfold/ops/packed_matrix.h"

namespace warpfold::models {

using LoadProgress = std::function<void(std::int64_t done, std::int64_t total)>;  // bytes

class TensorLoader {
 public:
  // Either source; the other is null. `name` stands for it in messages. All references must outlive this.
  TensorLoader(const formats::Gguf* gguf, const formats::Safetensors* safetensors, const std::string& name,
               ops::WeightArena& arena, ThreadPool& pool, const LoadProgress& progress);

  bool is_gguf() const { return gguf_ != nullptr; }
  const TensorView* find(std::string_view tensor) const;
  std::int64_t parameters() const { return parameters_; }  // read so far

  // Errors: kBadFile with the tensor's name, and its shape beside the expected one.
  Status vector(const std::string& tensor, std::int64_t size, float offset,
                std::vector<float>& out);  // (size)
  // rows = -1: any number of rows.
  Status matrix(const std::string& tensor, std::int64_t rows, std::int64_t columns, ops::PackedMatrix& out);
  // Part `part` of a matrix that holds `parts` of them one below the other: rows (part * rows, (part + 1) *
  // rows).
  Status matrix_part(const std::string& tensor, int part, int parts, std::int64_t rows, std::int64_t columns,
                     ops::PackedMatrix& out);
  Status vector_part(const std::string& tensor, int part, int parts, std::int64_t size,
                     std::vector<float>& out);
  // A convolution's kernel (outputs, inputs, taps) as the matrix (outputs, inputs * taps).
  Status convolution(const std::string& tensor, std::int64_t outputs, std::int64_t inputs, std::int64_t taps,
                     ops::PackedMatrix& out);
  // A matrix as floats, row by row.
  Status table(const std::string& tensor, std::int64_t rows, std::int64_t columns, std::vector<float>& out);

 private:
  Status check(const TensorView* t, const std::string& tensor, int rank, std::int64_t rows,
               std::int64_t columns) const;
  Status pack(const TensorView& t, const std::string& tensor, ops::PackedMatrix& out);
  void count(const TensorView& t);

  const formats::Gguf* gguf_;
  const formats::Safetensors* safetensors_;
  const std::string& name_;
  ops::WeightArena& arena_;
  ThreadPool& pool_;
  const LoadProgress& progress_;
  std::int64_t total_ = 0, done_ = 0, parameters_ = 0;
};

}  // namespace warpfold::models
