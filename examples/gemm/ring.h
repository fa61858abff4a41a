// The ring of stages of steps 4 to 8 as a kernel sees it: typed tiles and barriers at the offsets that the
// step's Config names. A stage holds a tile of A and one of B, a swizzle span of K deep.
#pragma once

#include "common.h"
#include "warpfold/kernels/pipeline.h"

namespace ladder {

using warpfold::kernels::RingCursor;  // a stage and a parity; the parity flips with each lap

template <class C>
struct Stages {
  uint32_t shared;  // of the block

  WF_ATOM Tile<typename C::ATile> a(int i) const {  // (tile_m, tile_k)
    return {shared + C::a + uint32_t(i * C::ATile::bytes)};
  }
  WF_ATOM Tile<typename C::BTile> b(int i) const {  // (tile_n, tile_k)
    return {shared + C::b + uint32_t(i * C::BTile::bytes)};
  }
  WF_ATOM Barrier full(int i) const { return {shared + C::full + uint32_t(i * 8)}; }
  WF_ATOM Barrier empty(int i) const { return {shared + C::empty + uint32_t(i * 8)}; }  // from step 5 on
};

}  // namespace ladder
