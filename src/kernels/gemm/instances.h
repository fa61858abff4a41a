// The compiled configurations: every tile for every element type. A .cu file instantiates the launches of one type.
#pragma once

#include "warpfold/kernels/gemm/launch.h"

#define WF_GEMM_INSTANCES(keyword, Element)                                                                     \
  keyword template Status launch<Config<Element, Tile128x256>>(const Problem&, int, void*);                     \
  keyword template Status launch<Config<Element, Tile128x256Cluster2>>(const Problem&, int, void*);             \
  keyword template Status launch<Config<Element, Tile256x128Cluster2>>(const Problem&, int, void*);             \
  keyword template Status launch<Config<Element, Tile128x128PingPong>>(const Problem&, int, void*);             \
  keyword template Status launch<Config<Element, Tile128x128PingPongCluster2>>(const Problem&, int, void*); \
  keyword template Status launch<Config<Element, Tile128x192PingPong>>(const Problem&, int, void*); \
  keyword template Status launch<Config<Element, Tile64x64PingPong>>(const Problem&, int, void*);
