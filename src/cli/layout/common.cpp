#include "cli/layout/common.h"

namespace warpfold::cli::layout_tool {

using namespace layout;

Layout read_layout(std::string_view name, const std::string& text) {
  return read_argument(name, text, parse_layout(text));
}

ComposedLayout read_composed(std::string_view name, const std::string& text) {
  return read_argument(name, text, parse_composed(text));
}

IntTuple read_tuple(std::string_view name, const std::string& text) {
  return read_argument(name, text, parse_tuple(text));
}

Verdict<Tiler> parse_tiler(std::string_view text) {
  Cursor cursor{text};
  Tiler tiler;
  if (!cursor.take('<')) {
    if (!cursor.layout(tiler.layout) || !cursor.at_end()) return refuse<Tiler>(cursor.why);
    return accept(tiler);
  }
  tiler.by_mode = true;
  LayoutBuilder builder;
  builder.begin();
  do {
    Layout mode;
    if (!cursor.layout(mode)) return refuse<Tiler>(cursor.why);
    builder.append(mode);
  } while (cursor.take(','));
  builder.end();
  if (!cursor.take('>') && !cursor.want(Expected::tiler)) return refuse<Tiler>(cursor.why);
  if (!cursor.at_end()) return refuse<Tiler>(cursor.why);
  const Verdict<Layout> modes = checked(builder);
  if (!modes.ok()) return refuse<Tiler>(modes.why);
  tiler.layout = modes.value;
  return accept(tiler);
}

namespace {

bool add_offset(const Layout& l, const IntTuple& c, int64_t& sum) {
  if (c.profile.is_scalar()) {
    int64_t offset = 0;
    return extended_checked(l, c.value[0], offset) && checked_add(sum, offset, sum);
  }
  for (int m = 0; m < c.rank(); ++m)
    if (!add_offset(l.mode(m), c.mode(m), sum)) return false;
  return true;
}

}  // namespace

int64_t offset_at(const ComposedLayout& l, const IntTuple& coordinate) {
  if (!l.layout.profile.accepts(coordinate.profile)) {
    Why why = because(Reason::coordinate);
    why.witness = coordinate;
    throw CommandError{2, std::string(sentence(why).view())};
  }
  int64_t offset = l.offset;
  if (!add_offset(l.layout, coordinate, offset))
    throw CommandError{2, "overflow: the offset at " + print(coordinate) + " does not fit 64 bits"};
  return l.swizzle(offset);
}

std::string list_lost(const Why& lossy, std::string_view separator, bool& complete) {
  const LostIndices lost = lost_indices(lossy);
  std::string out;
  int64_t y = lost.first();
  for (int listed = 0; y >= 0 && listed < 64; y = lost.next(y), ++listed) {
    if (listed > 0) out += separator;
    out += std::to_string(y);
  }
  complete = y < 0;
  return out;
}

std::string_view grade_name(Grade grade) { return grade == Grade::padded ? "padded" : "exact"; }

}  // namespace warpfold::cli::layout_tool
