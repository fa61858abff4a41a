// safetensors files and sharded sets. The header is JSON; every offset in it is checked against the shape,
// the neighbours and the file's size before a view is made.
#include "warpfold/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "formats/extent.h"
#include "formats/quote.h"
#include "formats/safetensors_header.h"

namespace warpfold::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "the header length is copied as it is");

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the reference reader's limit
constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";

struct Parsed {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<DType> dtype_of(std::string_view dtype) {
  constexpr DType kRead[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,
                             DType::kI16, DType::kI32, DType::kI64,  DType::kU8,  DType::kBool};
  for (const DType candidate : kRead)
    if (info(candidate).name == dtype) return candidate;
  return std::nullopt;
}

// The view an entry describes, checked against `data`, the bytes after the header.
Result<TensorView> view_of(const SafetensorsEntry& entry, std::span<const std::byte> data,
                           const std::string& file) {
  const auto bad = [&](std::string_view what, ErrorCode code = ErrorCode::kBadFile) {
    return fail(code, fmt::format("{}: tensor {}: {}", file, quote(entry.name), what));
  };
  TensorView view;
  const std::optional<DType> dtype = dtype_of(entry.dtype);
  if (!dtype) return bad(fmt::format("dtype {} is not read", quote(entry.dtype)), ErrorCode::kUnsupported);
  view.dtype = *dtype;

  if (entry.shape.size() > static_cast<std::size_t>(kMaxRank))
    return bad(fmt::format("shape has {} dimensions, and at most {} are read", entry.shape.size(), kMaxRank),
               ErrorCode::kUnsupported);
  view.rank = static_cast<int>(entry.shape.size());
  for (std::size_t i = 0; i < entry.shape.size(); ++i) {
    if (!std::in_range<std::int64_t>(entry.shape[i]))
      return bad(fmt::format("shape dimension {} is {}, more than 2^63 - 1", i, entry.shape[i]));
    view.shape[i] = static_cast<std::int64_t>(entry.shape[i]);
  }
  const std::optional<std::uint64_t> bytes = checked_bytes(view);
  const auto shape = fmt::format("shape [{}] of {}", fmt::join(entry.shape, ", "), entry.dtype);
  if (!bytes) return bad(fmt::format("{} takes more than 2^63 - 1 bytes", shape));

  if (entry.data_offsets.size() != 2)
    return bad(fmt::format("data_offsets has {} numbers, not 2", entry.data_offsets.size()));
  const std::uint64_t begin = entry.data_offsets[0], end = entry.data_offsets[1];
  const auto offsets = fmt::format("data_offsets [{}, {}]", begin, end);
  if (begin > end) return bad(fmt::format("{} end before they begin", offsets));
  if (end > data.size()) return bad(fmt::format("{} go past the data's {} bytes", offsets, data.size()));
  if (end - begin != *bytes)
    return bad(fmt::format("{} takes {} bytes, but {} give {}", shape, *bytes, offsets, end - begin));
  if (*bytes > 0) view.data = data.data() + begin;
  return view;
}

// The format's rule: sorted by offset, each tensor begins where the one before it ends, and the last ends the
// file.
Status check_tiling(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_size,
                    const std::string& file) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return entries[a].data_offsets < entries[b].data_offsets; });
  std::uint64_t expected = 0;
  for (const std::size_t i : order) {
    const std::uint64_t begin = entries[i].data_offsets[0];
    if (begin != expected)
      return fail(
          ErrorCode::kBadFile,
          fmt::format("{}: tensor {}: data begins at {}, {} at {} where the tensor before it ends", file,
                      quote(entries[i].name), begin,
                      begin > expected ? "leaving a hole that starts" : "overlapping: not", expected));
    expected = entries[i].data_offsets[1];
  }
  if (expected != data_size)
    return fail(ErrorCode::kBadFile,
                fmt::format("{}: the tensors end at byte {} of the data, but it has {}: {} trailing bytes",
                            file, expected, data_size, data_size - expected));
  return {};
}

Result<Parsed> parse_single(std::span<const std::byte> bytes, const std::string& file) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorCode::kBadFile, fmt::format("{}: {}", file, what));
  };
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length))
    return bad(fmt::format("the file has {} bytes, and a safetensors file at least {}", bytes.size(),
                           sizeof(length)));
  std::memcpy(&length, bytes.data(), sizeof(length));
  const std::span<const std::byte> rest = bytes.subspan(sizeof(length));
  if (length > kMostHeaderBytes)
    return bad(fmt::format("header length is {}, and at most {} are allowed", length, kMostHeaderBytes));
  if (length > rest.size())
    return bad(fmt::format("header length is {}, but {} bytes follow it", length, rest.size()));
  const std::string_view json = text_of(rest.first(length));
  if (!json.starts_with('{')) return bad("the header does not begin with '{'");

  WF_TRY(SafetensorsHeader header, parse_safetensors_header(json, file));
  const std::span<const std::byte> data = rest.subspan(length);
  Parsed out;
  out.metadata = std::move(header.metadata);
  out.tensors.reserve(header.tensors.size());
  for (const SafetensorsEntry& entry : header.tensors) {
    WF_TRY(const TensorView view, view_of(entry, data, file));
    out.tensors.push_back({entry.name, view});
  }
  WF_CHECK(check_tiling(header.tensors, data.size(), file));
  return out;
}

// A plain name, so that a shard cannot lie outside the index's directory.
bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Result<std::string> resolve(const std::string& path) {
  std::error_code error;
  const std::filesystem::path given(path);
  if (!std::filesystem::is_directory(given, error)) return path;
  for (const std::string_view name : {kIndexName, kSingleName})
    if (std::filesystem::exists(given / name, error)) return (given / name).string();
  return fail(ErrorCode::kIo,
              fmt::format("{}: the directory has neither {} nor {}", path, kIndexName, kSingleName));
}

}  // namespace

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes, std::string name) {
  WF_TRY(Parsed parsed, parse_single(bytes, name));
  Safetensors out;
  out.tensors_ = std::move(parsed.tensors);
  out.metadata_ = std::move(parsed.metadata);
  for (std::size_t i = 0; i < out.tensors_.size(); ++i) out.index_.emplace(out.tensors_[i].name, i);
  return out;
}

Result<Safetensors> Safetensors::open(const std::string& given) {
  WF_TRY(const std::string path, resolve(given));
  WF_TRY(MemoryMap map, MemoryMap::open(path));
  if (!path.ends_with(".json")) {
    WF_TRY(Safetensors out, parse(map.bytes(), path));
    out.maps_.push_back(std::move(map));
    return out;
  }

  WF_TRY(const auto weight_map, parse_safetensors_index(text_of(map.bytes()), path));
  std::map<std::string, std::vector<std::string_view>> shards;  // file name -> tensors
  for (const auto& [tensor, shard] : weight_map) {
    if (!is_plain_file_name(shard))
      return fail(ErrorCode::kBadFile, fmt::format("{}: weight_map {}: shard {} is not a plain file name",
                                                   path, quote(tensor), quote(shard)));
    shards[shard].push_back(tensor);
  }
  Safetensors out;
  for (const auto& [shard, wanted] : shards) {
    const std::string file = (std::filesystem::path(path).parent_path() / shard).string();
    auto shard_map = MemoryMap::open(file);
    if (!shard_map)
      return fail(shard_map.error().code, fmt::format("{}: weight_map {}: {}", path, quote(wanted.front()),
                                                      shard_map.error().message));
    WF_TRY(Parsed parsed, parse_single(shard_map->bytes(), file));
    // A tensor that weight_map places in another shard, or does not list, is not part of the set.
    for (NamedTensor& tensor : parsed.tensors) {
      const auto listed = weight_map.find(tensor.name);
      if (listed == weight_map.end() || listed->second != shard) continue;
      out.index_.emplace(tensor.name, out.tensors_.size());
      out.tensors_.push_back(std::move(tensor));
    }
    for (const std::string_view tensor : wanted)
      if (!out.find(tensor))
        return fail(ErrorCode::kBadFile,
                    fmt::format("{}: weight_map places tensor {} in {}, which does not hold it", path,
                                quote(tensor), file));
    out.metadata_.merge(parsed.metadata);
    out.maps_.push_back(std::move(*shard_map));
  }
  return out;
}

const TensorView* Safetensors::find(std::string_view tensor) const {
  const auto at = index_.find(tensor);
  return at == index_.end() ? nullptr : &tensors_[at->second].view;
}

void Safetensors::prefetch(std::span<const std::byte> part) const {
  for (const MemoryMap& map : maps_) map.prefetch(part);
}
void Safetensors::release(std::span<const std::byte> part) const {
  for (const MemoryMap& map : maps_) map.release(part);
}

}  // namespace warpfold::formats
