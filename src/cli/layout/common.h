// What the layout sub-commands share: reading arguments with an error that points at the column, printing verdicts,
// and the registration of sub-commands.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "warpfold/layout/algebra.h"

namespace warpfold::cli::layout_tool {

// An argument that is no layout, or a refused operation: ends the command with this exit code and message.
struct CommandError {
  int exit_code;
  std::string message;
};

template <class T>
T read_argument(std::string_view name, std::string_view text, const layout::Verdict<T>& parsed) {
  if (parsed.ok()) return parsed.value;
  const auto reason = parsed.why.reason;
  std::string message = std::string(name) + ": " + std::string(parsed.reason().view()) + "\n  " + std::string(text);
  const bool has_column = reason == layout::Reason::syntax || reason == layout::Reason::number_overflow ||
                          reason == layout::Reason::profile_mismatch;
  if (has_column) message += "\n  " + std::string(static_cast<std::size_t>(parsed.why.n[0] - 1), ' ') + "^";
  throw CommandError{2, message};
}

layout::Layout read_layout(std::string_view name, const std::string& text);
layout::ComposedLayout read_composed(std::string_view name, const std::string& text);
layout::IntTuple read_tuple(std::string_view name, const std::string& text);

// A layout, or a tiler <4:1,8:2> for mode-by-mode operations.
struct Tiler {
  layout::Layout layout;  // for a tiler: its top-level modes
  bool by_mode = false;
};
layout::Verdict<Tiler> parse_tiler(std::string_view text);

// The offset at a coordinate; ends the command when the coordinate does not fit the shape or the offset 64 bits.
int64_t offset_at(const layout::ComposedLayout& l, const layout::IntTuple& coordinate);

template <class T>
std::string print(const T& value) {
  return std::string(layout::to_text(value).view());
}

// Prints the value, or ends the command with the reason.
template <class T, class W>
const T& answer(const layout::Verdict<T, W>& verdict) {
  if (!verdict.ok()) throw CommandError{1, std::string(verdict.reason().view())};
  return verdict.value;
}

std::string_view grade_name(layout::Grade grade);

// The indices that a lossy division misses or repeats, each written after `separator`; at most 64, then "...".
std::string list_lost(const layout::Why& lossy, std::string_view separator, bool& complete);

void add_algebra_commands(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_draw_command(CLI::App& app);
void add_batch_command(CLI::App& app);

}  // namespace warpfold::cli::layout_tool
