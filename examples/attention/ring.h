// The rings of stages of steps 3 to 6 as a kernel sees them: typed tiles and barriers. K and V have a ring
// each, with a tile in every stage, since the products with K are over long before those with V.
#pragma once

#include "tile.h"
#include "warpfold/kernels/pipeline.h"

namespace attention_ladder {

using warpfold::kernels::RingCursor;  // a stage and a parity; the parity flips with each lap

// Shared memory of a block: `kQueries` tiles of Q, `kStages` of K and of V, barriers.
template <class TileTypes, int kStages, int kQueries = 1>
struct RingTypes : TileTypes {
  using Types = TileTypes;
  static constexpr int stages = kStages;
  static constexpr int q = 0, k = q + kQueries * Types::QTile::bytes, v = k + stages * Types::KTile::bytes,
                       q_full = v + stages * Types::VTile::bytes, k_full = q_full + kQueries * 8,
                       v_full = k_full + stages * 8, k_empty = v_full + stages * 8,
                       v_empty = k_empty + stages * 8, shared_bytes = v_empty + stages * 8;
};

template <class C>
struct Stages {
  uint32_t shared;  // of the block

  WF_ATOM Tile<typename C::QTile> q(int i = 0) const {
    return {shared + C::q + uint32_t(i * C::QTile::bytes)};
  }
  WF_ATOM Tile<typename C::KTile> k(int i) const { return {shared + C::k + uint32_t(i * C::KTile::bytes)}; }
  WF_ATOM Tile<typename C::VTile> v(int i) const { return {shared + C::v + uint32_t(i * C::VTile::bytes)}; }
  WF_ATOM Barrier q_full(int i = 0) const { return {shared + C::q_full + uint32_t(i * 8)}; }
  WF_ATOM Barrier k_full(int i) const { return {shared + C::k_full + uint32_t(i * 8)}; }
  WF_ATOM Barrier v_full(int i) const { return {shared + C::v_full + uint32_t(i * 8)}; }
  WF_ATOM Barrier k_empty(int i) const { return {shared + C::k_empty + uint32_t(i * 8)}; }  // from step 4 on
  WF_ATOM Barrier v_empty(int i) const { return {shared + C::v_empty + uint32_t(i * 8)}; }
};

}  // namespace attention_ladder
