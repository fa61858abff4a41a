// `warpfold bench attention`.
#pragma once

namespace warpfold::cli {

int bench_attention_main(int argc, char** argv);

}  // namespace warpfold::cli
