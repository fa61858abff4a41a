// The attention tiles of head dims 96, 192 and (192, 128) under the emulator, with tails and different
// lengths.
#include "kernels/attention_case.h"

namespace warpfold::kernels::attention {
namespace {

TEST(AttentionDimsEmulated, Head96) {
  run<Bf16<D96Plain>>({{1, 2, 1, 200, 400, 1},
                       {1, 1, 1, 100, 176, 1},
                       {.batches = 1,
                        .heads = 2,
                        .kv_heads = 1,
                        .seqlen_q = 70,
                        .seqlen_k = 90,
                        .blocks = 1,
                        .head_dim = 80,
                        .v_head_dim = 72}});
  run<F16<D96Causal>>({{1, 2, 1, 300, 300, 2}, {3, 2, 1, 200, 300, 2, {130, 200, 0}, {300, 100, 5}, true}});
  run<Bf16<D96Window>>(
      {{1, 1, 1, 300, 300, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 90, 0, 0, true}}});
  run<Bf16<D96Bias>>({{1,
                       1,
                       1,
                       130,
                       150,
                       1,
                       {},
                       {},
                       false,
                       true,
                       true,
                       0,
                       0,
                       1,
                       {Mask::window, 90, 0, 20, true, true, DType::kF32}}});
}
TEST(AttentionDimsEmulated, Head192) {
  run<Bf16<D192Plain>>({{1, 2, 1, 140, 250, 1}, {1, 1, 1, 64, 112, 1}});
  run<F16<D192Causal>>({{1, 2, 1, 200, 200, 1}, {1, 1, 1, 150, 300, 1}, {1, 1, 1, 180, 180, 1}});
  run<Bf16<D192Window>>(
      {{1, 1, 1, 200, 300, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 90, 10, 0, true}}});
  run<Bf16<D192Scores>>(
      {{1, 1, 1, 130, 150, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 90, 0, 20, true, true}}});
}
TEST(AttentionDimsEmulated, Head192x128) {
  run<Bf16<D192x128Plain>>({{1, 2, 1, 140, 300, 1}, {1, 2, 1, 200, 128, 1}});
  run<F16<D192x128Causal>>(
      {{1, 2, 1, 300, 300, 2}, {3, 2, 1, 200, 300, 2, {130, 200, 0}, {300, 100, 5}, false}});
  run<Bf16<D192x128Causal>, float>({{1, 1, 1, 193, 193, 1}});
  run<Bf16<D192x128Window>>(
      {{1, 1, 1, 200, 300, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 90, 10, 0, true}}});
  run<Bf16<D192x128Scores>>(
      {{1, 1, 1, 130, 150, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::causal, -1, -1, 20, true, true}}});
  run<Bf16<D192x128Bias>>({{1,
                            1,
                            1,
                            130,
                            150,
                            1,
                            {},
                            {},
                            false,
                            true,
                            true,
                            0,
                            0,
                            1,
                            {Mask::none, -1, -1, 0, false, false, DType::kBool}}});
}

}  // namespace
}  // namespace warpfold::kernels::attention
