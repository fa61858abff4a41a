// The compiled configurations: every tile for every pair of types. A .cu file instantiates the launches of one pair.
#pragma once

#include "warpfold/kernels/gemm/launch.h"

#define WF_GEMM_INSTANCES(keyword, Element, Output) \
  keyword template Status launch<Config<Element, Output, Tile128x128PingPong>>(const Problem&, int, void*); \
  keyword template Status launch<Config<Element, Output, Tile128x128PingPongCluster2>>(const Problem&, int, void*); \
  keyword template Status launch<Config<Element, Output, Tile128x192PingPong>>(const Problem&, int, void*); \
  keyword template Status launch<Config<Element, Output, Tile64x64PingPong>>(const Problem&, int, void*); \
  keyword template Status launch<Config<Element, Output, Tile128x256Cluster2>>(const Problem&, int, void*);
