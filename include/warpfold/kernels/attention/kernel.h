// O = softmax (scale * Q K^T) V: a persistent, warp-specialised attention kernel for Hopper, after FlashAttention-3.
//
// The producer warpgroup claims tiles and streams Q, K and V (producer.h). A math warpgroup owns 64 rows of the tile. It
// issues S = Q K^T of the next keys and O += P V of the keys before, and computes the softmax of S while P V and the other
// warpgroups' products run. Accumulators become operand A of the next product as they lie. In a cluster each block
// fetches a share of the common K and V and multicasts it, so a stage is free once the warps of all its blocks have read
// it.
#pragma once

#include "warpfold/kernels/attention/output.h"
#include "warpfold/kernels/attention/producer.h"
#include "warpfold/kernels/attention/scores.h"

namespace warpfold::kernels::attention {
inline namespace WF_TARGET {

template <class Config>
struct MathWarpgroup {
  static constexpr int keys = Config::tile_keys;
  using Sums = float[Config::sums];                      // of O (64, v_head_dim)
  using Probabilities = uint32_t[Config::fragments][4];  // P (64, keys)
  using Weights = SoftmaxOf<Config>;
  using Rules = std::conditional_t<Config::has_score_rules, RowRules<Config::has_bias>, NoRules>;

  const Shared<Config>& shared;
  const int warpgroup;
  float scale_log2;  // of what softmax takes
  const Window& window;
  const ScoreRules& rules;
  const int heads_per_kv;
  uint32_t values = 0;  // stages of V used so far; K is one ahead between its product and that with V

  WF_ATOM static int stage(uint32_t count) { return int(count % Config::stages); }
  WF_ATOM static uint32_t parity(uint32_t count) { return count / Config::stages % 2; }

  // The warpgroups' turns to issue products. Each takes as many as the others, whatever its rows see.
  WF_ATOM void await_turn() const {
    if constexpr (Config::ping_pong) hopper::named_sync(1 + warpgroup, 256);
  }
  WF_ATOM void pass_turn() const {
    if constexpr (Config::ping_pong) hopper::named_arrive(1 + (warpgroup + 1) % Config::math_warpgroups, 256);
  }

  // S (64, kKeys) = Q K^T for the first keys of stage number `count`.
  template <int kKeys>
  WF_ATOM void issue_scores(float (&scores)[kKeys / 2], uint32_t count) const {
    using Q = hopper::Tile<typename Config::QTile>;
    using K = hopper::Tile<typename Config::KTile>;
    hopper::mbarrier_wait(shared.k_full(stage(count)), parity(count));
    const uint64_t a = shared.q(warpgroup).descriptor(), b = shared.k(stage(count)).descriptor();
    hopper::wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < Config::head_dim / Config::depth; ++step)
      hopper::wgmma<typename Config::template ScoreProduct<kKeys>>(scores, a + Q::descriptor_step(0, step),
                                                                   b + K::descriptor_step(0, step), step > 0);
    hopper::wgmma_commit();
  }
  // O (64, v_head_dim) += P (64, keys) V for as many keys of the stage as P has.
  template <int kFragments>
  WF_ATOM void issue_values(Sums& sums, const uint32_t (&p)[kFragments][4]) const {
    using V = hopper::Tile<typename Config::VTile>;
    hopper::mbarrier_wait(shared.v_full(stage(values)), parity(values));
    const uint64_t b = shared.v(stage(values)).descriptor();
    hopper::keep_in_registers(sums);
    hopper::wgmma_fence();
    WF_UNROLL
    for (int step = 0; step < kFragments; ++step)
      hopper::wgmma<typename Config::ValueProduct>(sums, p[step], b + V::descriptor_step(0, step), true);
    hopper::wgmma_commit();
  }
  template <int kPending, int kScores>
  WF_ATOM void finish_scores(float (&scores)[kScores], uint32_t count) const {
    hopper::wgmma_wait<kPending>();
    hopper::keep_in_registers(scores);
    release<Config::cluster>(shared.k_empty(stage(count)));
  }
  template <int kFragments>
  WF_ATOM void finish_values(Sums& sums, uint32_t (&p)[kFragments][4]) {
    hopper::wgmma_wait<0>();
    hopper::keep_in_registers(sums);
    WF_UNROLL
    for (int i = 0; i < kFragments; ++i) hopper::keep_in_registers(p[i]);
    release<Config::cluster>(shared.v_empty(stage(values)));
    ++values;
  }

  // Hides the keys, of those from `first_key` on, that a row must not see.
  template <int kScores>
  WF_ATOM static void mask(float (&scores)[kScores], const View& view, int first_key) {
    WF_UNROLL
    for (int i = 0; i < kScores; ++i) {
      const int key = hopper::accumulator_column(0, i), r = i / 2 % 2;
      if (key >= view.limit[r] - first_key || (Config::windowed && key < view.begin[r] - first_key))
        scores[i] = -INFINITY;
    }
  }
  // Is key tile n not seen in full by all rows?
  WF_ATOM static bool is_cut(const View& view, int n) {
    return n >= view.whole || (Config::windowed && n < view.whole_first);
  }
  WF_ATOM static void rescale(Sums& sums, const Weights& weights) {
    if (!weights.corrects()) return;
    WF_UNROLL
    for (int i = 0; i < Config::sums; ++i) sums[i] *= weights.correction[i / 2 % 2];
  }

  // Scores and probabilities of the first kKeys keys of key tile n, with nothing to overlap them.
  template <int kKeys>
  WF_ATOM void begin(uint32_t (&p)[kKeys / Config::depth][4], Weights& weights, const View& view,
                     const Rules& row, int n) const {
    float scores[kKeys / 2];
    issue_scores<kKeys>(scores, values);
    finish_scores<0>(scores, values);
    row.apply(scores, rules, n * keys);
    if (is_cut(view, n)) mask(scores, view, n * keys);
    weights.template update<Config::masked>(scores, scale_log2);
    to_operand<typename Config::Element>(p, scores);
  }
  // P V of the key tile before; scores of tile n and its probabilities, to `next`. O is rescaled while the
  // scores are on their way. With one buffer `next` is p, which P V reads until it has finished.
  template <bool kMasked>
  WF_ATOM void step(Sums& sums, Probabilities& p, Probabilities& next, Weights& weights, const View& view,
                    const Rules& row, int n) {
    using Element = typename Config::Element;
    float scores[keys / 2];
    await_turn();
    issue_scores<keys>(scores, values + 1);
    rescale(sums, weights);
    issue_values(sums, p);
    pass_turn();
    finish_scores<1>(scores, values + 1);
    row.apply(scores, rules, n * keys);
    if constexpr (kMasked)
      if (!Config::has_score_rules || is_cut(view, n)) mask(scores, view, n * keys);
    if constexpr (Config::eager) {
      if constexpr (Config::p_buffers == 1) finish_values(sums, p);
      if (!weights.template update_eagerly<Element>(next, scores, scale_log2)) {
        weights.template update<kMasked>(scores, scale_log2);
        to_operand<Element>(next, scores);
      }
      if constexpr (Config::p_buffers == 2) {
        finish_values(sums, p);
        hopper::define_again(next);
      }
    } else {
      weights.template update<kMasked>(scores, scale_log2);
      finish_values(sums, p);
      to_operand<Element>(next, scores);
    }
  }
  // Steps from n down to `last`. Two buffers change places, and do so without a copy where two steps follow
  // each other.
  template <bool kMasked>
  WF_ATOM void steps(Sums& sums, Probabilities& p, Weights& weights, const View& view, const Rules& row,
                     int& n, int last) {
    if constexpr (Config::p_buffers == 1) {
      for (; n >= last; --n) step<kMasked>(sums, p, p, weights, view, row, n);
    } else {
      Probabilities other;
      if constexpr (!kMasked)  // masked steps are few
        for (; n > last; n -= 2) {
          step<kMasked>(sums, p, other, weights, view, row, n);
          step<kMasked>(sums, other, p, weights, view, row, n - 1);
        }
      for (; n >= last; --n) {
        step<kMasked>(sums, p, other, weights, view, row, n);
        WF_UNROLL
        for (int i = 0; i < Config::fragments * 4; ++i) p[i / 4][i % 4] = other[i / 4][i % 4];
      }
    }
  }

  // Takes the turn of a step that the others take and this warpgroup does not.
  WF_ATOM void skip_turn() const {
    await_turn();
    pass_turn();
  }
  // Gives back the stages of key tiles that other warpgroups see and this one does not, of `all`. The first key tile
  // of a warpgroup takes no turn, all others do.
  WF_ATOM void skip(int count, int all) {
    for (int i = 1; i <= count; ++i, ++values) {
      hopper::mbarrier_wait(shared.k_full(stage(values)), parity(values));
      hopper::mbarrier_wait(shared.v_full(stage(values)), parity(values));
      hopper::warp_sync();  // there is no product that would wait for all lanes
      release<Config::cluster>(shared.k_empty(stage(values)));
      release<Config::cluster>(shared.v_empty(stage(values)));
      if (i < all) skip_turn();
    }
  }
  WF_ATOM void release_queries() const {
    if (hopper::lane_id() == 0) hopper::mbarrier_arrive(shared.q_empty(warpgroup));
  }

  // All keys of a tile of rows, of which the block visits the key tiles [first, end).
  WF_ATOM void attend(Sums& sums, Weights& weights, const View& view, const Rules& row, int first, int end) {
    int n = view.key_tiles;  // where the key tiles that are left end
    skip(end - n, end - first);
    if (Config::narrow && view.narrow && n > 0) {  // the diagonal ends in the first part of the key tile
      constexpr int some = Config::narrow ? Config::narrow_keys : Config::depth;
      uint32_t p[some / Config::depth][4];
      begin<some>(p, weights, view, row, --n);
      issue_values(sums, p);
      finish_values(sums, p);
      if (n > 0) skip_turn();
    }
    if (n > view.first) {
      Probabilities p;
      begin<keys>(p, weights, view, row, --n);
      --n;
      if constexpr (Config::masked && !Config::has_score_rules)
        steps<true>(sums, p, weights, view, row, n, view.whole > view.first ? view.whole : view.first);
      if constexpr (!Config::has_score_rules)
        steps<false>(sums, p, weights, view, row, n, Config::windowed ? view.whole_first : 0);
      if constexpr (Config::windowed)  // with rules registers are scarce: these are all steps
        steps<true>(sums, p, weights, view, row, n, view.first);
      release_queries();
      rescale(sums, weights);
      issue_values(sums, p);
      finish_values(sums, p);
    } else {
      hopper::warp_sync();
      release_queries();
    }
    if constexpr (Config::windowed) skip(view.first - first, view.first - first + 1);  // one turn for each
  }

  WF_ATOM void run(const Output& out) {
    RingCursor<Config::places> places;
    uint32_t q_parity = 0;
    if (warpgroup == Config::math_warpgroups - 1) pass_turn();  // the first turn is warpgroup 0's
    for (;; q_parity ^= 1) {
      hopper::mbarrier_wait(shared.place_full(places.stage), places.parity);
      const uint32_t place = shared.place(places.stage);
      const Place begin = hopper::load_shared<Place>(place);
      if (begin.key_tiles < 0) break;
      Sums sums = {};
      Weights weights;
      const Extent extent = hopper::load_shared<Extent>(place + 16);
      const int row = begin.row + warpgroup * 64, first = first_key_tile<Config>(extent, window, begin.row);
      const View view = view_of<Config>(extent, window, row, first);
      float value_scale = 1;
      const float scale_before = scale_log2;
      if constexpr (Config::eight_bit) {
        const int kv_head = begin.head / heads_per_kv;
        scale_log2 *= factor_of(rules.q, begin.batch, kv_head) * factor_of(rules.k, begin.batch, kv_head);
        value_scale = factor_of(rules.v, begin.batch, kv_head);
      }
      const Rules own(rules, extent, begin.batch, begin.head, row);
      hopper::mbarrier_wait(shared.q_full(warpgroup), q_parity);
      attend(sums, weights, view, own, first, begin.key_tiles);
      // Read again, as registers are scarce meanwhile.
      const Tile tile{hopper::load_shared<Place>(place), hopper::load_shared<Extent>(place + 16)};
      hopper::warp_sync();
      if (hopper::lane_id() == 0) hopper::mbarrier_arrive(shared.place_empty(places.stage));
      places.advance();
      store<Config>(out, tile, tile.place.row + warpgroup * 64, sums, weights, scale_log2, value_scale);
      if constexpr (Config::eight_bit) scale_log2 = scale_before;
    }
    if (warpgroup == 0) await_turn();  // which nobody takes any more
  }
};

template <class Config>
WF_KERNEL(Config::threads)
attention_kernel(WF_PARAM hopper::TensorMap map_q, WF_PARAM hopper::TensorMap map_k,
                 WF_PARAM hopper::TensorMap map_v, WF_PARAM Output out, WF_PARAM Shape shape,
                 WF_PARAM ScoreRules rules, float scale_log2) {
  const Shared<Config> shared{hopper::dynamic_shared()};
  const int warpgroup = hopper::warpgroup_id();
  if (hopper::thread_id() == 0) {
    hopper::tma_prefetch_map(map_q);
    hopper::tma_prefetch_map(map_k);
    hopper::tma_prefetch_map(map_v);
    for (int i = 0; i < Config::math_warpgroups; ++i) {
      hopper::mbarrier_init(shared.q_full(i), 1, "Q full", i);
      hopper::mbarrier_init(shared.q_empty(i), 4, "Q empty", i);
    }
    for (int i = 0; i < Config::stages; ++i) {
      hopper::mbarrier_init(shared.k_full(i), 1, "K full", i);
      hopper::mbarrier_init(shared.v_full(i), Config::v_full_arrivals, "V full", i);
      if constexpr (Config::eight_bit) {
        hopper::mbarrier_init(shared.landed(i), 1, "V came", i);
        hopper::mbarrier_init(shared.landing_empty(i), Config::transposing_warps, "V transposed", i);
      }
      hopper::mbarrier_init(shared.k_empty(i), Config::empty_arrivals, "K empty", i);
      hopper::mbarrier_init(shared.v_empty(i), Config::empty_arrivals, "V empty", i);
    }
    for (int i = 0; i < Config::places; ++i) {
      hopper::mbarrier_init(shared.place_full(i), 1, "tile full", i);
      hopper::mbarrier_init(shared.place_empty(i), Config::place_arrivals, "tile empty", i);
    }
    hopper::fence_mbarrier_init();
  }
  clear_columns<Config>(shared, shape);
  barriers_ready<Config::cluster>();

  // What came before on the stream may still run until here; what comes after may start to set itself up.
  hopper::grid_dependency_wait();
  hopper::grid_dependency_launch();
  if (warpgroup == Config::math_warpgroups) {
    hopper::registers_decrease<Config::producer_registers>();
    const int warp = hopper::warp_id() % 4;
    if (warp == 0 && hopper::lane_id() == 0) produce_keys<Config>(shared, map_k, map_v, shape);
    if (warp == 1 && hopper::lane_id() == 0) produce_queries<Config>(shared, map_q, shape);
    if constexpr (Config::eight_bit)
      if (warp >= 2) produce_values<Config>(shared, shape.window, warp - 2);
  } else {
    hopper::registers_increase<Config::math_registers>();
    MathWarpgroup<Config>{shared, warpgroup, scale_log2, shape.window, rules, shape.heads_per_kv}.run(out);
  }
  leave_cluster<Config::cluster>();
}

}  // namespace WF_TARGET
}  // namespace warpfold::kernels::attention
