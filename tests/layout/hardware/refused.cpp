// Must not compile: a broken hardware rule stops the build.
#include "warpfold/layout/hardware/wgmma.h"

namespace warpfold::layout::hardware {
constexpr SharedTile tile = require(canonical_tile(Major::mn, SwizzleMode::b128, 1, 128, 64));
}
