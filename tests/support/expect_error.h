// Checks that a Result is an error of the expected kind whose message holds every given piece of text.
#pragma once

#include <initializer_list>
#include <string_view>

#include <gtest/gtest.h>

#include "warpfold/core/error.h"

namespace warpfold::test {

template <class T>
void expect_error(const Result<T>& result, ErrorCode code, std::initializer_list<std::string_view> pieces) {
  ASSERT_FALSE(result) << "expected an error";
  EXPECT_EQ(static_cast<int>(result.error().code), static_cast<int>(code)) << result.error().message;
  for (const std::string_view piece : pieces)
    EXPECT_NE(result.error().message.find(piece), std::string_view::npos)
        << "no \"" << piece << "\" in: " << result.error().message;
}

}  // namespace warpfold::test
