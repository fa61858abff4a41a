// Parses a GGUF file: header, metadata, tensor table. A cursor walks the bytes and refuses to step outside
// them; counts and products are checked against what is left of the file before anything is allocated.
#include "warpfold/formats/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "formats/extent.h"
#include "formats/ggml_types.h"
#include "formats/quote.h"

namespace warpfold::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF fields are copied as they are");

constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::int64_t kLeastAlignment = 8;
constexpr std::int64_t kMostAlignment = std::int64_t{1} << 21;
// The fewest bytes an entry can take: key length, one character, type, a one-byte value;
// and name length, number of dimensions, type, offset.
constexpr std::uint64_t kLeastMetadataBytes = 8 + 1 + 4 + 1;
constexpr std::uint64_t kLeastTensorBytes = 8 + 4 + 4 + 8;

// Bytes of one array element in the file; for a string or an array, the fewest it can take.
std::uint64_t least_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
    case GgufType::kString:
      return 8;
    case GgufType::kArray:
      return 12;
  }
  return 1;
}

// Reads little-endian fields one after another. `place` says where in the file's structure it stands.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::string place;

  std::uint64_t position() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }

  tl::unexpected<Error> bad(std::string_view what, ErrorCode code = ErrorCode::kBadFile) const {
    return fail(code, place.empty() ? fmt::format("{}: {}", file_, what)
                                    : fmt::format("{}: {}: {}", file_, place, what));
  }

  template <class T>
  Result<T> read(std::string_view field) {
    WF_TRY(const std::byte* from, take(sizeof(T), field));
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }

  Result<std::string_view> string(std::string_view field) {
    WF_TRY(const std::uint64_t length, read<std::uint64_t>(field));
    WF_TRY(const std::byte* from, take(length, field));
    return std::string_view(reinterpret_cast<const char*>(from), length);
  }

  Result<bool> boolean(std::string_view field) {
    WF_TRY(const std::uint8_t value, read<std::uint8_t>(field));
    if (value > 1) return bad(fmt::format("{} is a bool of value {}, not 0 or 1", field, value));
    return value == 1;
  }

  // A number of entries that take at least `least` bytes each.
  Result<std::uint64_t> count(std::string_view field, std::uint64_t least) {
    WF_TRY(const std::uint64_t n, read<std::uint64_t>(field));
    if (n > left() / least)
      return bad(
          fmt::format("{} is {}, which needs at least {} bytes each, but {} bytes are left in the file",
                      field, n, least, left()));
    return n;
  }

 private:
  Result<const std::byte*> take(std::uint64_t length, std::string_view field) {
    if (length > left())
      return bad(fmt::format("{} needs {} bytes at byte {}, but the file has {} bytes", field, length, at_,
                             bytes_.size()));
    const std::byte* from = bytes_.data() + at_;
    at_ += length;
    return from;
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::uint64_t at_ = 0;
};

using Value = decltype(GgufValue::value);

template <class Stored, class Kept>
Result<GgufArray> read_numbers(Cursor& in, std::uint64_t n) {
  std::vector<Kept> out;
  out.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    WF_TRY(const Stored value, in.read<Stored>("array element"));
    out.push_back(value);
  }
  return GgufArray(std::move(out));
}

Result<GgufArray> read_array(Cursor& in, GgufType element, std::uint64_t n) {
  switch (element) {
    case GgufType::kU8:
      return read_numbers<std::uint8_t, std::uint64_t>(in, n);
    case GgufType::kI8:
      return read_numbers<std::int8_t, std::int64_t>(in, n);
    case GgufType::kU16:
      return read_numbers<std::uint16_t, std::uint64_t>(in, n);
    case GgufType::kI16:
      return read_numbers<std::int16_t, std::int64_t>(in, n);
    case GgufType::kU32:
      return read_numbers<std::uint32_t, std::uint64_t>(in, n);
    case GgufType::kI32:
      return read_numbers<std::int32_t, std::int64_t>(in, n);
    case GgufType::kU64:
      return read_numbers<std::uint64_t, std::uint64_t>(in, n);
    case GgufType::kI64:
      return read_numbers<std::int64_t, std::int64_t>(in, n);
    case GgufType::kF32:
      return read_numbers<float, float>(in, n);
    case GgufType::kF64:
      return read_numbers<double, double>(in, n);
    case GgufType::kBool: {
      std::vector<bool> out;
      out.reserve(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        WF_TRY(const bool value, in.boolean("array element"));
        out.push_back(value);
      }
      return GgufArray(std::move(out));
    }
    case GgufType::kString: {
      std::vector<std::string_view> out;
      out.reserve(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        WF_TRY(const std::string_view value, in.string("array element"));
        out.push_back(value);
      }
      return GgufArray(std::move(out));
    }
    case GgufType::kArray:
      break;
  }
  return in.bad("arrays of arrays are not read", ErrorCode::kUnsupported);
}

template <class Stored, class Kept>
Result<Value> read_number(Cursor& in) {
  WF_TRY(const Stored value, in.read<Stored>("value"));
  return Value(static_cast<Kept>(value));
}

Result<GgufType> read_type(Cursor& in, std::string_view field) {
  WF_TRY(const std::uint32_t id, in.read<std::uint32_t>(field));
  if (id > static_cast<std::uint32_t>(GgufType::kF64))
    return in.bad(fmt::format("{} is {}, and the format has types 0 to 12", field, id));
  return static_cast<GgufType>(id);
}

Result<GgufValue> read_value(Cursor& in) {
  GgufValue out{};
  WF_TRY(out.type, read_type(in, "value type"));
  Result<Value> value = [&]() -> Result<Value> {
    switch (out.type) {
      case GgufType::kU8:
        return read_number<std::uint8_t, std::uint64_t>(in);
      case GgufType::kI8:
        return read_number<std::int8_t, std::int64_t>(in);
      case GgufType::kU16:
        return read_number<std::uint16_t, std::uint64_t>(in);
      case GgufType::kI16:
        return read_number<std::int16_t, std::int64_t>(in);
      case GgufType::kU32:
        return read_number<std::uint32_t, std::uint64_t>(in);
      case GgufType::kI32:
        return read_number<std::int32_t, std::int64_t>(in);
      case GgufType::kU64:
        return read_number<std::uint64_t, std::uint64_t>(in);
      case GgufType::kI64:
        return read_number<std::int64_t, std::int64_t>(in);
      case GgufType::kF32:
        return read_number<float, double>(in);
      case GgufType::kF64:
        return read_number<double, double>(in);
      case GgufType::kBool: {
        WF_TRY(const bool flag, in.boolean("value"));
        return Value(flag);
      }
      case GgufType::kString: {
        WF_TRY(const std::string_view text, in.string("value"));
        return Value(text);
      }
      case GgufType::kArray:
        break;
    }
    WF_TRY(out.element, read_type(in, "array element type"));
    WF_TRY(const std::uint64_t n, in.count("array length", least_bytes(out.element)));
    WF_TRY(GgufArray array, read_array(in, out.element, n));
    return Value(std::move(array));
  }();
  if (!value) return tl::unexpected<Error>(std::move(value).error());
  out.value = std::move(*value);
  return out;
}

// A tensor's entry in the table, its view without the data pointer, and where the data should lie.
struct TensorEntry {
  NamedTensor tensor;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

Result<TensorEntry> read_tensor(Cursor& in) {
  TensorEntry out;
  WF_TRY(const std::string_view name, in.string("name"));
  if (name.empty()) return in.bad("the name is empty");
  out.tensor.name = name;
  in.place = fmt::format("tensor {}", quote(name));
  TensorView& view = out.tensor.view;

  WF_TRY(const std::uint32_t rank, in.read<std::uint32_t>("number of dimensions"));
  if (rank > static_cast<std::uint32_t>(kMaxRank))
    return in.bad(fmt::format("it has {} dimensions, and at most {} are possible", rank, kMaxRank));
  view.rank = static_cast<int>(rank);
  for (std::uint32_t i = 0; i < rank; ++i) {
    WF_TRY(const std::int64_t extent, in.read<std::int64_t>("dimension"));
    if (extent < 0) return in.bad(fmt::format("dimension {} is {}", i, extent));
    view.shape[rank - 1 - i] = extent;
  }

  WF_TRY(const std::uint32_t type, in.read<std::uint32_t>("type"));
  const std::optional<DType> dtype = dtype_of_ggml(type);
  if (!dtype)
    return in.bad(fmt::format("type {} is not read", unsupported_ggml_type(type)), ErrorCode::kUnsupported);
  view.dtype = *dtype;
  const DTypeInfo block = info(*dtype);
  if (view.columns() % block.block_size != 0)
    return in.bad(fmt::format("it has {} columns, not a multiple of {}'s block of {}", view.columns(),
                              block.name, block.block_size));
  const std::optional<std::uint64_t> bytes = checked_bytes(view);
  if (!bytes)
    return in.bad(fmt::format("shape [{}] of {} takes more than 2^63 - 1 bytes",
                              fmt::join(view.shape.begin(), view.shape.begin() + view.rank, ", "),
                              block.name));
  out.bytes = *bytes;
  WF_TRY(out.offset, in.read<std::uint64_t>("offset"));
  return out;
}

Result<std::uint32_t> read_version(Cursor& in) {
  WF_TRY(const std::uint32_t magic, in.read<std::uint32_t>("magic"));
  if (magic != 0x46554747u)  // "GGUF"
    return in.bad(
        fmt::format("not a GGUF file: it begins with bytes {:02x} {:02x} {:02x} {:02x}, not \"GGUF\"",
                    magic & 0xff, magic >> 8 & 0xff, magic >> 16 & 0xff, magic >> 24));
  WF_TRY(const std::uint32_t version, in.read<std::uint32_t>("version"));
  if (version != 0 && (version & 0xffffu) == 0)
    return in.bad(
        fmt::format("version is {:#x}: a big-endian file, and only little-endian ones are read", version),
        ErrorCode::kUnsupported);
  if (version != 2 && version != 3)
    return in.bad(fmt::format("GGUF version is {}, and versions 2 and 3 are read", version),
                  ErrorCode::kUnsupported);
  return version;
}

}  // namespace

Result<Gguf> Gguf::open(const std::string& path) {
  WF_TRY(MemoryMap map, MemoryMap::open(path));
  WF_TRY(Gguf out, parse(map.bytes(), path));
  out.map_ = std::move(map);
  return out;
}

Result<Gguf> Gguf::parse(std::span<const std::byte> bytes, std::string name) {
  Gguf out;
  out.name_ = std::move(name);
  Cursor in(bytes, out.name_);

  WF_TRY(out.version_, read_version(in));
  WF_TRY(const std::uint64_t tensors, in.count("number of tensors", kLeastTensorBytes));
  WF_TRY(const std::uint64_t keys, in.count("number of metadata entries", kLeastMetadataBytes));

  out.metadata_.reserve(keys);
  for (std::uint64_t i = 0; i < keys; ++i) {
    in.place = fmt::format("metadata entry {} of {}", i, keys);
    WF_TRY(const std::string_view key, in.string("key"));
    if (key.empty()) return in.bad("the key is empty");
    in.place = fmt::format("metadata {}", quote(key));
    const auto [at, is_new] = out.key_index_.try_emplace(std::string(key), i);
    if (!is_new) return in.bad(fmt::format("the key occurs twice, as entries {} and {}", at->second, i));
    WF_TRY(GgufValue value, read_value(in));
    out.metadata_.emplace_back(key, std::move(value));
  }
  in.place.clear();

  WF_TRY(const std::int64_t alignment, out.integer_or("general.alignment", kDefaultAlignment));
  if (alignment < kLeastAlignment || alignment > kMostAlignment ||
      !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    return in.bad(fmt::format("general.alignment is {}, not a power of two from {} to {}", alignment,
                              kLeastAlignment, kMostAlignment));

  std::vector<TensorEntry> entries;
  entries.reserve(tensors);
  for (std::uint64_t i = 0; i < tensors; ++i) {
    in.place = fmt::format("tensor {} of {}", i, tensors);
    WF_TRY(TensorEntry entry, read_tensor(in));
    const auto [at, is_new] = out.tensor_index_.try_emplace(entry.tensor.name, i);
    if (!is_new) return in.bad(fmt::format("the name occurs twice, as tensors {} and {}", at->second, i));
    entries.push_back(std::move(entry));
  }

  // Neither sum can wrap: a position is at most the file's size, and `expected` stays below it.
  const auto pad = [alignment](std::uint64_t at) {
    const auto a = static_cast<std::uint64_t>(alignment);
    return (at + a - 1) / a * a;
  };
  const std::uint64_t data_begin = std::min<std::uint64_t>(pad(in.position()), bytes.size());
  const std::uint64_t data_size = bytes.size() - data_begin;
  std::uint64_t expected = 0;
  out.tensors_.reserve(entries.size());
  for (TensorEntry& entry : entries) {
    in.place = fmt::format("tensor {}", quote(entry.tensor.name));
    if (entry.offset % static_cast<std::uint64_t>(alignment) != 0)
      return in.bad(fmt::format("offset {} is not a multiple of the alignment {}", entry.offset, alignment));
    if (entry.bytes > 0 && (entry.offset > data_size || entry.bytes > data_size - entry.offset))
      return in.bad(fmt::format("its {} bytes at offset {} do not fit the data section of {} bytes",
                                entry.bytes, entry.offset, data_size));
    if (entry.offset != expected)
      return in.bad(
          fmt::format("offset is {}, but the tensor before it ends at {} (padded)", entry.offset, expected));
    if (entry.bytes > 0) {
      entry.tensor.view.data = bytes.data() + data_begin + entry.offset;
      expected = pad(entry.offset + entry.bytes);
    }
    out.tensors_.push_back(std::move(entry.tensor));
  }
  return out;
}

}  // namespace warpfold::formats
