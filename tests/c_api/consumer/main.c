/* Asks the installed library about one product, which needs no GPU. */
#include <stdio.h>
#include <string.h>
#include <warpfold/warpfold.h>

static char memory[4][4096];

int main(void) {
  wf_gemm_problem p = {0};
  wf_gemm_plan plan;
  char message[200];
  if (wf_abi_version() != WF_ABI_VERSION) return 1;
  p.struct_bytes = sizeof p;
  p.a_type = p.b_type = p.output_type = WF_BF16;
  p.m = p.n = p.k = p.a_stride = p.b_stride = p.d_stride = 32;
  p.batches = 1;
  p.alpha = 1;
  p.a = memory[0] + 1; /* no bf16 lies here */
  p.b = memory[1];
  p.d = memory[2];
  if (wf_gemm_can_run(&p, message, sizeof message) != WF_INVALID_ARGUMENT || strstr(message, "A starts") == NULL) return 2;
  p.a = memory[3];
  if (wf_gemm_can_run(&p, message, sizeof message) != WF_OK) return 3;
  if (wf_gemm_make_plan(&p, 132, -1, &plan, message, sizeof message) != WF_OK || plan.blocks < 1) return 4;
  printf("%s on %d blocks\n", wf_gemm_tile_name(plan.tile), (int)plan.blocks);
  return 0;
}
