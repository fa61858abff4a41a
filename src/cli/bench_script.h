// The measurements of bench/kernels/*.py, which this program carries: kernels are compared with their peers
// in one process, and the peers are PyTorch's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "warpfold/core/error.h"

namespace warpfold::cli {

// A library as it lies beside this program when built (in `folder`) or installed; empty if it is not there.
std::filesystem::path find_library(const char* folder, const char* name);

// Is there a PyTorch that sees a GPU?
bool has_torch();

// Runs `script`, as gemm.py, with the library and `words`, in a folder that is removed behind it.
Status run_script(const char* script, const std::filesystem::path& library,
                  const std::vector<std::string>& words);

}  // namespace warpfold::cli
