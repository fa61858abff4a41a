// How fast this machine reads memory: the ceiling of decoding, which reads every weight for each token.
#pragma once

#include <cstddef>

namespace warpfold::cli {

// GB/s of all usable processors reading a buffer of `bytes`, the best of several passes; takes about 0.1 s.
double measure_read_bandwidth(std::size_t bytes);

// A size that the processor's caches cannot hold.
std::size_t beyond_caches();

}  // namespace warpfold::cli
