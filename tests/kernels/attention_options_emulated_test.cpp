// The attention tiles with options under the emulator: windows that begin and end in and between key tiles,
// sinks, softcap, ALiBi, biases; with tails, different lengths and rows that see nothing; under many
// schedules.
#include "kernels/attention_case.h"

namespace warpfold::kernels::attention {
namespace {

using Options = Case::Options;
TEST(AttentionOptionsEmulated, Window) {
  // Left and right limits in and across key tiles, of one key, of none; rows before the first key.
  run<Bf16<D128Window>>({{1, 2, 1, 300, 500, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 150, 20}},
                         {1, 2, 1, 400, 400, 2, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 40, 0}},
                         {1, 1, 1, 300, 300, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 0, 0}},
                         {1, 1, 1, 200, 420, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 128, 127}},
                         {1, 1, 1, 400, 120, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 30, 60}},
                         {1, 2, 1, 260, 300, 2, {}, {}, false, true, true, 0, 0, 1, {Mask::window, -1, 5}},
                         {1, 2, 1, 260, 300, 2, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 70, -1}},
                         {1, 1, 1, 130, 150, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, -1, -1}},
                         {1, 2, 1, 300, 300, 2, {}, {}, false, true, true, 0, 0, 1, {Mask::causal}},
                         {1, 1, 1, 130, 0, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 3, 3}}});
  run<F16<D64Window>>({{1, 2, 1, 400, 500, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 100, 0}},
                       {5,
                        2,
                        1,
                        200,
                        300,
                        2,
                        {130, 200, 0, 64, 1},
                        {300, 100, 5, 64, 1},
                        true,
                        true,
                        true,
                        0,
                        0,
                        1,
                        {Mask::window, 50, 9}}});
  run<Bf16<D256Window>>({{1, 2, 1, 250, 300, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 90, 10}}});
}
// One tile of rows, whose window begins three key tiles after the first key and ends two before the last.
TEST(AttentionOptionsEmulated, WindowInside) {
  run<Bf16<D128Window>>({{1, 1, 1, 60, 700, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 100, 0}},
                         {1, 1, 1, 600, 100, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 10, 10}}});
}
TEST(AttentionOptionsEmulated, Sink) {
  run<Bf16<D64Window>>(
      {{2, 3, 1, 200, 300, 2, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 127, 0, 0, true}},
       {1, 2, 1, 200, 300, 2, {}, {}, false, true, true, 0, 0, 1, {Mask::none, -1, -1, 0, true}},
       {1, 2, 1, 250, 100, 2, {}, {}, false, true, true, 0, 0, 1, {Mask::causal, -1, -1, 0, true}}});
}
TEST(AttentionOptionsEmulated, Scores) {
  run<Bf16<D128Scores>>(
      {{1, 2, 1, 140, 300, 1, {}, {}, false, true, true, 0, 0, 4, {Mask::none, -1, -1, 5}},
       {2, 2, 1, 140, 300, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::causal, -1, -1, 0, false, true}}});
  run<F16<D64Scores>>(
      {{1, 2, 1, 150, 300, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::window, 99, 0, 30, true, true}}});
  run<Bf16<D256Scores>>(
      {{1, 2, 1, 150, 200, 1, {}, {}, false, true, true, 0, 0, 1, {Mask::causal, -1, -1, 30, true, true}}});
}
// Biases of each type, alone and with all else.
TEST(AttentionOptionsEmulated, Bias) {
  run<Bf16<D128Bias>>({{2,
                        2,
                        1,
                        140,
                        200,
                        1,
                        {},
                        {},
                        false,
                        true,
                        true,
                        0,
                        0,
                        1,
                        {Mask::none, -1, -1, 0, false, false, DType::kF32}},
                       {1,
                        2,
                        1,
                        140,
                        200,
                        1,
                        {},
                        {},
                        false,
                        true,
                        true,
                        0,
                        0,
                        1,
                        {Mask::none, -1, -1, 0, false, false, DType::kBF16, true}},
                       {1,
                        2,
                        1,
                        140,
                        200,
                        1,
                        {},
                        {},
                        false,
                        true,
                        true,
                        0,
                        0,
                        1,
                        {Mask::none, -1, -1, 0, false, false, DType::kBool}},
                       {3,
                        2,
                        1,
                        140,
                        200,
                        2,
                        {140, 3, 77},
                        {200, 0, 150},
                        true,
                        true,
                        true,
                        0,
                        0,
                        1,
                        {Mask::window, 60, 30, 20, true, true, DType::kF16}}});
  run<F16<D64Bias>>({{1,
                      2,
                      1,
                      150,
                      300,
                      1,
                      {},
                      {},
                      false,
                      true,
                      true,
                      0,
                      0,
                      1,
                      {Mask::window, 99, 0, 30, true, true, DType::kBool}}});
  run<Bf16<D256Bias>>({{1,
                        2,
                        1,
                        150,
                        200,
                        1,
                        {},
                        {},
                        false,
                        true,
                        true,
                        0,
                        0,
                        1,
                        {Mask::causal, -1, -1, 30, true, true, DType::kF32, true}}});
}

}  // namespace
}  // namespace warpfold::kernels::attention
