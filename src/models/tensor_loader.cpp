#include "models/tensor_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "warpfold/formats/blocks.h"

namespace warpfold::models {

TensorLoader::TensorLoader(const formats::Gguf* gguf, const formats::Safetensors* safetensors,
                           const std::string& name, ops::WeightArena& arena, ThreadPool& pool,
                           const LoadProgress& progress)
    : gguf_(gguf), safetensors_(safetensors), name_(name), arena_(arena), pool_(pool), progress_(progress) {
  for (const auto& t : gguf ? gguf->tensors() : safetensors->tensors()) total_ += t.view.bytes();
}

const TensorView* TensorLoader::find(std::string_view tensor) const {
  return gguf_ ? gguf_->find(tensor) : safetensors_->find(tensor);
}

Status TensorLoader::check(const TensorView* t, const std::string& tensor, int rank, std::int64_t rows,
                           std::int64_t columns) const {
  if (!t) return fail(ErrorCode::kBadFile, fmt::format("{}: tensor {} is missing", name_, tensor));
  const bool right_rows = rank == 1 || (rows >= 0 ? t->shape[0] == rows : t->shape[0] >= 1);
  if (t->rank == rank && t->columns() == columns && right_rows) return {};
  const std::string expected = rank == 1 ? "" : (rows >= 0 ? fmt::to_string(rows) : "vocabulary") + ", ";
  return fail(ErrorCode::kBadFile,
              fmt::format("{}: tensor {} has shape ({}), expected ({}{})", name_, tensor,
                          fmt::join(t->shape.begin(), t->shape.begin() + t->rank, ", "), expected, columns));
}

Status TensorLoader::vector(const std::string& tensor, std::int64_t size, float offset,
                            std::vector<float>& out) {
  const TensorView* t = find(tensor);
  WF_CHECK(check(t, tensor, 1, 1, size));
  out.resize(static_cast<std::size_t>(size));
  WF_CHECK(formats::dequantize_row(t->dtype, t->span(), out));
  for (float& x : out) x += offset;
  count(*t);
  return {};
}

Status TensorLoader::matrix(const std::string& tensor, std::int64_t rows, std::int64_t columns,
                            ops::PackedMatrix& out) {
  const TensorView* t = find(tensor);
  WF_CHECK(check(t, tensor, 2, rows, columns));
  const ops::SourceHooks hooks{[this](std::span<const std::byte> part) {
                                 gguf_ ? gguf_->prefetch(part) : safetensors_->prefetch(part);
                               },
                               [this](std::span<const std::byte> part) {
                                 gguf_ ? gguf_->release(part) : safetensors_->release(part);
                               }};
  auto packed = ops::PackedMatrix::pack(*t, arena_, pool_, hooks);
  if (!packed)
    return fail(packed.error().code, fmt::format("{}: tensor {}: {}", name_, tensor, packed.error().message));
  out = std::move(*packed);
  count(*t);
  return {};
}

void TensorLoader::count(const TensorView& t) {
  parameters_ += t.size();
  done_ += t.bytes();
  if (progress_) progress_(done_, total_);
}

}  // namespace warpfold::models
