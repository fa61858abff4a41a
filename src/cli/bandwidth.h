// How fast this machine reads memory: the ceiling of decoding, which reads every weight for each token.
#pragma once

namespace warpfold::cli {

// GB/s of all usable processors reading a buffer of 32 MiB that no cache holds; the median of several passes.
// Takes less than 0.1 s.
double measure_read_bandwidth();

}  // namespace warpfold::cli
