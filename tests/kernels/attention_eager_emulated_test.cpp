// Eager tiles under the emulator on data that is against them: maxima that rise within what is let through,
// just beyond it, beyond fp16's range, beyond fp32's; from key tile to key tile, or with the last key only;
// one key that outweighs all others; rows that see none of the first key tiles, or no key at all; under many
// schedules.
#include "kernels/attention_case.h"

namespace warpfold::kernels::attention {
namespace {

using Data = Case::Data;

Case with(Data data, double bits, int seqlen_q, int seqlen_k, double spread = 1) {
  return {.batches = 1,
          .heads = 1,
          .kv_heads = 1,
          .seqlen_q = seqlen_q,
          .seqlen_k = seqlen_k,
          .blocks = 2,
          .spread = spread,
          .data = data,
          .bits = bits};
}

// 16-bit P is let through up to a sum of 2^10 a thread. Key tiles rise by what one step lets through but two
// do not, by what none does, by what overflows fp16, and fp32.
template <class Config>
void check_rises(int seqlen_q, int seqlen_k) {
  run<Config>({with(Data::rising, 4, seqlen_q, seqlen_k)}, 20);
  run<Config>(
      {with(Data::rising, 11, seqlen_q, seqlen_k), with(Data::rising, 18, seqlen_q, seqlen_k),
       with(Data::rising, 1024, seqlen_q, seqlen_k), with(Data::rising, -7, seqlen_q, seqlen_k),
       with(Data::last_key, 9, seqlen_q, seqlen_k), with(Data::last_key, 17.5, seqlen_q, seqlen_k),
       with(Data::one_hot, 40, seqlen_q, seqlen_k), with(Data::outliers, 0, seqlen_q, seqlen_k),
       with(Data::last_key, 3, seqlen_q, seqlen_k, 30), with(Data::last_key, 0, seqlen_q, seqlen_k, 1e-6)},
      2);
}

TEST(AttentionEagerEmulated, Head64) {
  check_rises<F16<D64Plain>>(100, 450);
  check_rises<F16<D64Causal>>(140, 450);
}
TEST(AttentionEagerEmulated, Head128) {
  check_rises<F16<D128Plain>>(70, 520);
  check_rises<F16<D128Causal>>(70, 650);
  check_rises<F16<D128CausalShort>>(70, 520);
}
TEST(AttentionEagerEmulated, Pair128) { check_rises<F16<D128PlainPair>>(140, 600); }
TEST(AttentionEagerEmulated, Head256) { check_rises<F16<D256Plain>>(70, 330); }
TEST(AttentionEagerEmulated, Bf16) {
  run<Bf16<D128Plain>>({with(Data::rising, 11, 70, 400), with(Data::rising, 1024, 70, 400)});
  run<Bf16<D128Causal>>({with(Data::rising, 11, 70, 400), with(Data::last_key, 1024, 70, 400)});
}
// Rows that see nothing of the first key tile, and rows that see nothing at all, beside rows of their warp
// that do.
TEST(AttentionEagerEmulated, RowsWithoutKeys) {
  for (const int seqlen_k : {400, 131, 60}) {
    run<F16<D128Causal>>({with(Data::rising, 12, 130, seqlen_k)});
    run<F16<D128CausalShort>>({with(Data::rising, 12, 130, seqlen_k)});
    run<F16<D64Causal>>({with(Data::rising, 12, 190, seqlen_k)});
  }
}
// e4m3 P, 2^5 for the largest score so far, is let through up to a sum of 448 a thread.
TEST(AttentionEagerEmulated, E4m3) {
  run<E4m3<D128PlainE4m3>, float>({with(Data::rising, 3, 70, 400)}, 20);
  run<E4m3<D128CausalE4m3>, float>({with(Data::rising, 3, 70, 400)}, 20);
  for (const Case& c :
       {with(Data::rising, 6, 70, 400), with(Data::rising, 12, 70, 400), with(Data::last_key, 5, 70, 400),
        with(Data::last_key, 20, 70, 400), with(Data::one_hot, 12, 70, 400)}) {
    run<E4m3<D128PlainE4m3>, float>({c}, 3);
    run<E4m3<D128CausalE4m3>, float>({c}, 3);
  }
}

}  // namespace
}  // namespace warpfold::kernels::attention
