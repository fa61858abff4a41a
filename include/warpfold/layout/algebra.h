// The whole layout algebra.
#pragma once

#include "warpfold/layout/gf2.h"
#include "warpfold/layout/left_inverse.h"
#include "warpfold/layout/permutation.h"
#include "warpfold/layout/product.h"
#include "warpfold/layout/recast.h"
#include "warpfold/layout/slice.h"
#include "warpfold/layout/tractable.h"
