// Whether this machine has an NVIDIA GPU, found through the driver's library at run time; nothing is linked.
#pragma once

#include <string>

namespace warpfold::cli {

// A sentence: the devices with their names, or what is missing.
std::string describe_gpus();

}  // namespace warpfold::cli
