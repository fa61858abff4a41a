// Errors as values: Result<T> holds a T or an Error that says what is wrong, with the numbers in it.
// The library never prints, throws across its interface or aborts; the tools decide what to show.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace warpfold {

enum class ErrorCode {
  kInvalidArgument,  // the caller asked for something impossible: a bad size, an id outside the vocabulary
  kBadFile,          // the file breaks its format's rules
  kIo,               // the operating system refused: not found, not readable
  kUnsupported,      // well-formed, but not something Warpfold does
  kCancelled,        // the caller asked to stop
};

struct Error {
  ErrorCode code;
  std::string message;  // one sentence: the file or argument, the field, the numbers
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace warpfold

// Evaluates an expression of type Result<T>; on error returns the error from the enclosing function.
#define WARPFOLD_CONCAT_(a, b) a##b
#define WARPFOLD_CONCAT(a, b) WARPFOLD_CONCAT_(a, b)
#define WF_TRY(declaration, expression) WF_TRY_IMPL_(WARPFOLD_CONCAT(wf_result_, __LINE__), declaration, expression)
#define WF_TRY_IMPL_(name, declaration, expression)                    \
  auto name = (expression);                                            \
  if (!name) return ::tl::unexpected<::warpfold::Error>(std::move(name).error()); \
  declaration = std::move(*name)
#define WF_CHECK(expression)                                                                                    \
  do {                                                                                                          \
    if (auto wf_status = (expression); !wf_status)                                                              \
      return ::tl::unexpected<::warpfold::Error>(std::move(wf_status).error());                                 \
  } while (false)
