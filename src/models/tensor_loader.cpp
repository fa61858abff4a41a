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
  return pack(*t, tensor, out);
}

Status TensorLoader::matrix_part(const std::string& tensor, int part, int parts, std::int64_t rows,
                                 std::int64_t columns, ops::PackedMatrix& out) {
  const TensorView* t = find(tensor);
  WF_CHECK(check(t, tensor, 2, parts * rows, columns));
  TensorView view = *t;
  view.shape[0] = rows;
  view.data += part * view.bytes();
  return pack(view, tensor, out);
}

Status TensorLoader::vector_part(const std::string& tensor, int part, int parts, std::int64_t size,
                                 std::vector<float>& out) {
  const TensorView* t = find(tensor);
  WF_CHECK(check(t, tensor, 1, 1, parts * size));
  TensorView view = *t;
  view.shape[0] = size;
  view.data += part * view.bytes();
  out.resize(static_cast<std::size_t>(size));
  WF_CHECK(formats::dequantize_row(view.dtype, view.span(), out));
  count(view);
  return {};
}

Status TensorLoader::convolution(const std::string& tensor, std::int64_t outputs, std::int64_t inputs,
                                 std::int64_t taps, ops::PackedMatrix& out) {
  const TensorView* t = find(tensor);
  if (!t) return fail(ErrorCode::kBadFile, fmt::format("{}: tensor {} is missing", name_, tensor));
  if (t->rank != 3 || t->shape[0] != outputs || t->shape[1] != inputs || t->shape[2] != taps)
    return fail(
        ErrorCode::kBadFile,
        fmt::format("{}: tensor {} has shape ({}), expected ({}, {}, {})", name_, tensor,
                    fmt::join(t->shape.begin(), t->shape.begin() + t->rank, ", "), outputs, inputs, taps));
  TensorView view = *t;
  view.rank = 2;
  view.shape = {outputs, inputs * taps, 1, 1};
  return pack(view, tensor, out);
}

Status TensorLoader::table(const std::string& tensor, std::int64_t rows, std::int64_t columns,
                           std::vector<float>& out) {
  const TensorView* t = find(tensor);
  WF_CHECK(check(t, tensor, 2, rows, columns));
  out.resize(static_cast<std::size_t>(t->size()));
  WF_CHECK(formats::dequantize_row(t->dtype, t->span(), out));
  count(*t);
  return {};
}

Status TensorLoader::pack(const TensorView& t, const std::string& tensor, ops::PackedMatrix& out) {
  const ops::SourceHooks hooks{[this](std::span<const std::byte> part) {
                                 gguf_ ? gguf_->prefetch(part) : safetensors_->prefetch(part);
                               },
                               [this](std::span<const std::byte> part) {
                                 gguf_ ? gguf_->release(part) : safetensors_->release(part);
                               }};
  auto packed = ops::PackedMatrix::pack(t, arena_, pool_, hooks);
  if (!packed)
    return fail(packed.error().code, fmt::format("{}: tensor {}: {}", name_, tensor, packed.error().message));
  out = std::move(*packed);
  count(t);
  return {};
}

void TensorLoader::count(const TensorView& t) {
  parameters_ += t.size();
  done_ += t.bytes();
  if (progress_) progress_(done_, total_);
}

}  // namespace warpfold::models
