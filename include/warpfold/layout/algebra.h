// The whole layout algebra.
#pragma once

#include "warpfold/layout/composed.h"
#include "warpfold/layout/left_inverse.h"
#include "warpfold/layout/product.h"
#include "warpfold/layout/recast.h"
#include "warpfold/layout/tractable.h"
