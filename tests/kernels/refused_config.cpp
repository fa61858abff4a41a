// Does not compile, and the message says why. WF_REFUSED names the check by which the configuration is refused; each has
// one thing wrong.
#include "warpfold/kernels/gemm/chain.h"

using warpfold::hopper::bf16;
namespace gemm = warpfold::kernels::gemm;

using Good = gemm::Config<bf16, bf16, bf16, gemm::Tile128x192>;
using Words = gemm::Config<bf16, bf16, float, gemm::Tile128x128>;

// Six stages of 128 x 192 do not fit into shared memory.
struct SixStages : gemm::Tile128x192 {
  static constexpr int stages = 6;
};
using plan = gemm::Config<bf16, bf16, bf16, SixStages>;

// Two units of row 9 are exchanged.
struct tile : Good {
  struct ATile : Good::ATile {
    static constexpr uint32_t offset(int row, int x) { return Good::ATile::offset(row, x) ^ (row == 9 ? 16u : 0u); }
  };
};
// The second step of K begins 16 bytes early.
struct operand : Good {
  struct ATile : Good::ATile {
    static constexpr uint32_t operand_offset(int mn, int step) {
      return Good::ATile::operand_offset(mn, step) - (step == 1 ? 16 : 0);
    }
  };
};
// Boxes of 100 rows do not make up a tile of 192.
struct boxes : Good {
  static constexpr int b_share = 100;
};
// stmatrix gets the address of the next row.
struct fragments : Good {
  static constexpr int patch_row(int t) { return Good::patch_row(t) ^ 1; }
};
// The barrier is not told of B's bytes.
struct bytes : Good {
  static constexpr int full_bytes = ATile::bytes;
};
// All rows begin with the left patch: two of each half-warp meet in the same banks.
struct banks : Words {
  static constexpr bool left_patch(int, int turn) { return turn == 0; }
};
// 128 registers for 192 accumulators and all else.
struct registers : Good {
  static constexpr int math_registers = 128;
};

constexpr auto chain = gemm::chain<WF_REFUSED>();
static_assert(warpfold::kernels::Proof<chain>::holds);
