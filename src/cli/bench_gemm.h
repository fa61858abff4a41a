// `warpfold bench gemm`.
#pragma once

namespace warpfold::cli {

int bench_gemm_main(int argc, char** argv);

}  // namespace warpfold::cli
