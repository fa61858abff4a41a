// Parses a chat template into its syntax tree.
#pragma once

#include <string_view>

#include "text/jinja_ast.h"

namespace warpfold::text::jinja {

// Errors: kBadFile for broken syntax, kUnsupported for a construct outside of the subset; both with the line.
Result<Body> parse_template(std::string_view source);

}  // namespace warpfold::text::jinja
