// The atoms on the chip: inline PTX for sm_90a. Semantics are those of the PTX ISA; what each one did on an H200 is kept
// in tests/hopper/records, and the emulator must do the same.
#pragma once

#include "warpfold/hopper/device/sync.h"
#include "warpfold/hopper/device/warp.h"
#include "warpfold/hopper/device/memory.h"
#include "warpfold/hopper/device/copy.h"
#include "warpfold/hopper/device/wgmma.h"
#include "warpfold/hopper/device/host.h"
