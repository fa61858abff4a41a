// The attention kernel under the emulator: every plain tile on problems with tails, several heads a KV head,
// different lengths, packed and used sequences, empty ones; under many schedules.
#include "kernels/attention_case.h"

namespace warpfold::kernels::attention {
namespace {

TEST(AttentionEmulated, Plain128) {
  run<Bf16<D128Plain>>({{1, 1, 1, 128, 128, 1}, {2, 2, 1, 200, 140, 2}, {1, 1, 1, 100, 600, 1}, {1, 3, 1, 130, 250, 3}});
}
TEST(AttentionEmulated, Pair128) {
  run<Bf16<D128PlainPair>>({{1, 2, 1, 256, 300, 2}, {2, 3, 1, 300, 590, 4}, {1, 2, 2, 70, 145, 2}, {1, 1, 1, 500, 144, 2}});
}
TEST(AttentionEmulated, Causal128) {
  run<Bf16<D128Causal>>({{1, 1, 1, 128, 128, 1}, {1, 4, 2, 300, 300, 2}, {1, 1, 1, 130, 300, 1}, {1, 1, 1, 200, 70, 1},
                         {1, 2, 1, 129, 190, 1}, {1, 2, 1, 1, 300, 1}, {2, 6, 1, 260, 260, 5}, {1, 1, 1, 100, 700, 1}});
  run<Bf16<D128CausalShort>>({{1, 2, 1, 300, 300, 2}, {1, 2, 1, 129, 190, 1}});
}
// Of the last key tile some row sees one key more than a narrow product has.
TEST(AttentionEmulated, Narrow) {
  run<Bf16<D128Causal>>({{1, 1, 1, 193, 193, 1}, {1, 1, 1, 192, 192, 1}});
  run<Bf16<D256Causal>>({{1, 1, 1, 129, 129, 1}, {1, 1, 1, 128, 128, 1}});
}
TEST(AttentionEmulated, Head64) {
  run<Bf16<D64Plain>>({{1, 2, 1, 200, 300, 1}, {1, 1, 1, 192, 128, 1}});
  run<F16<D64Plain>>({{1, 2, 1, 200, 300, 1}});
  run<Bf16<D64Causal>>({{1, 2, 1, 400, 400, 2}, {1, 2, 2, 300, 350, 2}, {1, 1, 1, 250, 100, 1}});
  run<F16<D64Causal>>({{1, 2, 1, 400, 400, 2}, {1, 1, 1, 256, 16, 1}});
}
TEST(AttentionEmulated, Head256) {
  run<Bf16<D256Plain>>({{1, 2, 1, 200, 200, 1}});
  run<F16<D256Plain>>({{1, 2, 1, 130, 250, 1}});
  run<Bf16<D256Causal>>({{1, 2, 1, 200, 200, 1}, {1, 2, 1, 150, 300, 1}});
}
// Sequences of different lengths: packed, or the first rows of a batch; empty ones among them.
TEST(AttentionEmulated, Lengths) {
  run<Bf16<D128Plain>>({{4, 2, 1, 200, 300, 2, {200, 0, 1, 130}, {300, 10, 0, 77}, true},
                        {4, 2, 1, 200, 300, 2, {200, 0, 1, 130}, {300, 10, 0, 77}, false},
                        {3, 2, 1, 140, 150, 2, {}, {150, 0, 3}, false, false}});
  run<Bf16<D128Causal>>({{5, 2, 2, 200, 300, 2, {130, 200, 0, 64, 1}, {300, 100, 5, 64, 1}, true},
                         {5, 2, 1, 200, 300, 3, {130, 200, 0, 64, 1}, {300, 100, 5, 64, 1}, false},
                         {3, 2, 1, 300, 300, 1, {}, {150, 300, 0}, false}});
  run<Bf16<D64Causal>>({{4, 2, 1, 400, 400, 2, {0, 0, 390, 70}, {1, 0, 400, 300}, true}});
}
TEST(AttentionEmulated, NoKeys) {
  run<Bf16<D128Plain>>({{1, 2, 1, 130, 0, 1}});
  run<Bf16<D128Causal>>({{1, 2, 1, 130, 0, 1}, {1, 1, 1, 300, 4, 1}});
}
// The first keys' scores are so far below those before that what a row has can be forgotten only at a price.
TEST(AttentionEmulated, Steep) {
  const Case steep{.batches = 1,
                   .heads = 1,
                   .kv_heads = 1,
                   .seqlen_q = 130,
                   .seqlen_k = 400,
                   .blocks = 1,
                   .spread = 100,
                   .steep = true};
  run<Bf16<D128Plain>>({steep});
  run<F16<D64Causal>>({steep});
}
// O in fp32, no LSE, no counter, other head dims by zero fill, large and tiny scores.
TEST(AttentionEmulated, Rest) {
  run<Bf16<D128Causal>, float>({{1, 2, 1, 200, 200, 1, {}, {}, false, false, false}});
  run<F16<D128Causal>>({{1, 2, 1, 150, 200, 1, {}, {}, false, true, true, 80, 72}});
  run<Bf16<D64Plain>>({{1, 2, 1, 150, 200, 1, {}, {}, false, true, true, 8, 64}});
  run<Bf16<D128Plain>>({{1, 2, 1, 130, 200, 1, {}, {}, false, true, true, 0, 0, 30},
                        {1, 2, 1, 130, 200, 1, {}, {}, false, true, true, 0, 0, 1e-6}});
}
// Head dims that leave columns of 64 wholly empty.
TEST(AttentionEmulated, EmptyColumns) {
  run<Bf16<D128Plain>>({{3, 2, 1, 140, 150, 2, {140, 0, 77}, {150, 3, 60}, true, true, true, 112, 48}});
  run<Bf16<D128PlainPair>>({{1, 2, 1, 150, 200, 2, {}, {}, false, true, true, 56, 104}});
  run<F16<D256Causal>>({{2, 1, 1, 100, 150, 1, {100, 30}, {150, 20}, true, true, true, 184, 72}});
}

}  // namespace
}  // namespace warpfold::kernels::attention
