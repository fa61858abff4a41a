// The attention tiles of e4m3 under the emulator: V is transposed on its way, with tails, masks, windows,
// different lengths and descales; under many schedules.
#include "kernels/attention_case.h"

namespace warpfold::kernels::attention {
namespace {

TEST(AttentionE4m3Emulated, Head128) {
  run<E4m3<D128PlainE4m3>>({{1, 2, 1, 200, 400, 1},
                            {1, 1, 1, 64, 128, 1},
                            {.batches = 2,
                             .heads = 4,
                             .kv_heads = 2,
                             .seqlen_q = 130,
                             .seqlen_k = 150,
                             .blocks = 2,
                             .descale = true},
                            {.batches = 1,
                             .heads = 1,
                             .kv_heads = 1,
                             .seqlen_q = 70,
                             .seqlen_k = 90,
                             .blocks = 1,
                             .head_dim = 80,
                             .v_head_dim = 112}});
  run<E4m3<D128CausalE4m3>>({{1, 4, 2, 300, 300, 2},
                             {1, 1, 1, 193, 193, 1},
                             {1, 1, 1, 250, 100, 1},
                             {5, 2, 2, 200, 300, 2, {130, 200, 0, 64, 1}, {300, 100, 5, 64, 1}, true}});
  run<E4m3<D128CausalE4m3>, float>({{1, 1, 1, 130, 200, 1}});
  run<E4m3<D128WindowE4m3>>(
      {{1, 1, 1, 300, 500, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 90, 10, 0, true}}});
}
TEST(AttentionE4m3Emulated, Head64) {
  run<E4m3<D64PlainE4m3>>({{1, 2, 1, 140, 300, 1}});
  run<E4m3<D64CausalE4m3>>({{1, 2, 1, 300, 300, 2}});
}
TEST(AttentionE4m3Emulated, Head256) {
  run<E4m3<D256PlainE4m3>>({{1, 2, 1, 140, 300, 1}});
  run<E4m3<D256CausalE4m3>>({{1, 1, 1, 200, 260, 1}});
  run<E4m3<D256WindowE4m3>>(
      {{1, 1, 1, 130, 300, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 60, 0}}});
}
// Few keys, so that a key more, less or in another's place is far beyond the error.
TEST(AttentionE4m3Emulated, FewKeys) {
  run<E4m3<D128PlainE4m3>, float>({{1, 2, 1, 64, 1, 1}, {1, 2, 1, 64, 3, 1}, {1, 2, 1, 64, 17, 1}});
}

}  // namespace
}  // namespace warpfold::kernels::attention
