// The plan of a block's shared memory: named pieces, each on its alignment, one behind the other.
#pragma once

#include <cstdint>
#include <string_view>

namespace warpfold::kernels {

struct SharedPiece {
  std::string_view name = {};
  int offset = 0, bytes = 0, alignment = 1, count = 1;  // `count` equal parts make up `bytes`
};

struct SharedPlan {
  static constexpr int capacity = 16;
  SharedPiece piece[capacity] = {};
  int pieces = 0;
  int bytes = 0;  // of all

  // Appends `count` parts of `part_bytes` and returns the offset of the first.
  constexpr uint32_t add(std::string_view name, int count, int part_bytes, int alignment) {
    const int offset = (bytes + alignment - 1) / alignment * alignment;
    piece[pieces++] = {name, offset, count * part_bytes, alignment, count};
    bytes = offset + count * part_bytes;
    return uint32_t(offset);
  }
};

}  // namespace warpfold::kernels
