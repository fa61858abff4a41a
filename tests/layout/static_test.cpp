// The compile-time cases; that this file compiles is the test. Also: a refused verdict must not compile (CMakeLists).
#include "hardware/static_cases.h"
#include "static_cases.h"

#ifdef WARPFOLD_REFUSED_SENTENCE
constexpr auto stop = warpfold::layout::require_v<warpfold::layout::compose(
    warpfold::layout::require(warpfold::layout::parse_layout("(6,2):(1,7)")),
    warpfold::layout::require(warpfold::layout::parse_layout("(3,2):(2,3)")))>;
#endif
#ifdef WARPFOLD_REFUSED_LITERAL
using namespace warpfold::layout::literals;
constexpr auto stop = "(4,8:(1,4)"_layout;
#endif

int main() { return 0; }
