// Runs a parsed chat template.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/jinja_ast.h"

namespace warpfold::text::jinja {

// The text that `body` writes, with `globals` as its variables.
Result<Text> evaluate(const Body& body, std::vector<std::pair<std::string, Value>> globals, Work& work);

}  // namespace warpfold::text::jinja
