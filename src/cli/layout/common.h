// What the layout sub-commands share: reading arguments with an error that points at the column, printing verdicts,
// and the registration of sub-commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
  std::string message =
      std::string(name) + ": " + std::string(parsed.reason().view()) + "\n  " + std::string(text);
  const bool has_column = reason == layout::Reason::syntax || reason == layout::Reason::number_overflow ||
                          reason == layout::Reason::profile_mismatch;
  if (has_column) message += "\n  " + std::string(static_cast<std::size_t>(parsed.why.n[0] - 1), ' ') + "^";
  throw CommandError{2, message};
}

layout::Layout read_layout(std::string_view name, const std::string& text);
layout::ComposedLayout read_composed(std::string_view name, const std::string& text);
layout::IntTuple read_tuple(std::string_view name, const std::string& text);
int64_t read_number(std::string_view name, const std::string& text);

// A number, or a shape that stands for its size: [0, M) in which a complement is taken.
layout::Verdict<int64_t> parse_room(std::string_view text);

// An option that takes a number; CLI11's own would clamp one that does not fit.
CLI::Option* add_number(CLI::App* app, const std::string& name, int64_t& number, const std::string& help);

// A layout, or a tiler <4:1,8:2> for mode-by-mode operations.
struct Tiler {
  layout::Layout layout;  // for a tiler: its top-level modes
  bool by_mode = false;
};
layout::Verdict<Tiler> parse_tiler(std::string_view text);
Tiler read_tiler(std::string_view name, const std::string& text);

// The offset at a coordinate; ends the command when the coordinate is not nested like the shape, or lies outside it
// and the extended function was not asked for (`how` says how to), or when the offset does not fit 64 bits.
int64_t offset_at(const layout::ComposedLayout& l, const layout::IntTuple& coordinate, bool extended,
                  std::string_view how);

// Why two layouts are not equal, in a sentence with the canonical forms; `index` is where they differ, or -1 when one
// only ends before the other.
std::string difference(const layout::ComposedLayout& a, const layout::ComposedLayout& b, bool extended,
                       int64_t index);

// The indices of a padded division that the caller must predicate: of mode `mode`, or of all of A.
struct Outside {
  int mode;
  int64_t from, to;
};
std::vector<Outside> outside_of(const layout::Layout& a, const Tiler& b);

layout::Form form_of(std::string_view name);

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
