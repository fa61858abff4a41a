#include "cli/layout/hardware.h"

#include "warpfold/layout/hardware/banks.h"
#include "warpfold/layout/hardware/tile.h"

namespace warpfold::cli::layout_tool {

namespace hw = layout::hardware;

int element_bytes(int64_t bits) {
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    throw CommandError{2, "--bits: an element has 8, 16, 32 or 64 bits, not " + std::to_string(bits)};
  return static_cast<int>(bits / 8);
}

hw::SharedTile read_tile(std::string_view name, const std::string& text, int64_t bits) {
  const layout::ComposedLayout c = read_composed(name, text);
  if (c.offset != 0)
    throw CommandError{2, std::string(name) + ": a tile starts at offset 0; give its address with --address"};
  hw::SharedTile tile;
  tile.element_bytes = element_bytes(bits);
  tile.layout = c.layout;
  tile.swizzle = answer(layout::recast(c.swizzle, bits, 8));
  return tile;
}

hw::SharedAccess read_access(const std::string& name) {
  if (name == "32") return hw::SharedAccess::b32;
  if (name == "64") return hw::SharedAccess::b64;
  if (name == "128") return hw::SharedAccess::b128;
  if (name == "ldmatrix.x1" || name == "stmatrix.x1") return hw::SharedAccess::matrix_x1;
  if (name == "ldmatrix.x2" || name == "stmatrix.x2") return hw::SharedAccess::matrix_x2;
  if (name == "ldmatrix.x4" || name == "stmatrix.x4") return hw::SharedAccess::matrix_x4;
  throw CommandError{
      2, "an access is 32, 64, 128, ldmatrix.x1, ldmatrix.x2, ldmatrix.x4 or stmatrix likewise, not " + name};
}

}  // namespace warpfold::cli::layout_tool
