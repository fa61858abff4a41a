#include "cli/layout/common.h"

namespace warpfold::cli::layout_tool {

using namespace layout;

Layout read_layout(std::string_view name, const std::string& text) {
  const ComposedLayout c = read_composed(name, text);
  if (c.swizzle.bits != 0 || c.offset != 0)
    throw CommandError{
        2, std::string(name) +
               ": a plain layout is needed here. Sw in front is read by eval, draw, equal, coalesce, "
               "inverse, banks, tma, wgmma, and as A by compose and divide"};
  return c.layout;
}

ComposedLayout read_composed(std::string_view name, const std::string& text) {
  return read_argument(name, text, parse_composed(text));
}

IntTuple read_tuple(std::string_view name, const std::string& text) {
  return read_argument(name, text, parse_tuple(text));
}

int64_t read_number(std::string_view name, const std::string& text) {
  Cursor cursor{text};
  int64_t number = 0;
  const bool good = cursor.number(number, Expected::integer) && cursor.at_end();
  return read_argument(name, text, good ? accept(number) : refuse<int64_t>(cursor.why));
}

Verdict<int64_t> parse_room(std::string_view text) {
  Cursor cursor{text};
  IntTuple shape;
  if (!cursor.tuple(shape, 1, Expected::size) || !cursor.at_end()) return refuse<int64_t>(cursor.why);
  const Verdict<Layout> whole = column_major(shape);
  return whole.ok() ? accept(whole->size()) : refuse<int64_t>(whole.why);
}

CLI::Option* add_number(CLI::App* app, const std::string& name, int64_t& number, const std::string& help) {
  return app->add_option_function<std::string>(
      name, [name, &number](const std::string& text) { number = read_number(name, text); }, help);
}

Tiler read_tiler(std::string_view name, const std::string& text) {
  if (parse_composed(text).ok() && parse_composed(text)->swizzle.bits != 0)
    throw CommandError{2, std::string(name) + ": a swizzle on the right, A o Sw o B, is no layout"};
  return read_argument(name, text, parse_tiler(text));
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

namespace {

// Does the coordinate name an element, and not one past the end of a mode?
bool is_inside(const Layout& l, const IntTuple& c) {
  if (c.profile.is_scalar()) return c.value[0] >= 0 && c.value[0] < l.size();
  for (int m = 0; m < c.rank(); ++m)
    if (!is_inside(l.mode(m), c.mode(m))) return false;
  return true;
}

}  // namespace

int64_t offset_at(const ComposedLayout& l, const IntTuple& coordinate, bool extended, std::string_view how) {
  if (!l.layout.profile.accepts(coordinate.profile)) {
    Why why = because(Reason::coordinate);
    why.witness = coordinate;
    throw CommandError{2, std::string(sentence(why).view())};
  }
  if (!extended && !is_inside(l.layout, coordinate))
    throw CommandError{2, print(coordinate) + " lies outside the shape " + print(l.layout.shapes()) + "; " +
                              std::string(how) + " evaluates it, the last mode without bound"};
  int64_t offset = l.offset;
  if (!add_offset(l.layout, coordinate, offset))
    throw CommandError{2, "overflow: the offset at " + print(coordinate) + " does not fit 64 bits"};
  return l.swizzle(offset);
}

std::string difference(const ComposedLayout& a, const ComposedLayout& b, bool extended, int64_t index) {
  const auto form = [extended](const ComposedLayout& c) {
    return print(
        ComposedLayout{c.swizzle, c.offset, extended ? coalesce_extended(c.layout) : coalesce(c.layout)});
  };
  std::string words = "different: " + form(a) + " and " + form(b);
  if (!extended && a.size() != b.size())
    words += " have sizes " + std::to_string(a.size()) + " and " + std::to_string(b.size());
  if (index < 0) return words;
  const auto value = [index](const ComposedLayout& c) {
    int64_t offset = 0;
    const bool fits = extended_checked(c.layout, index, offset) && checked_add(offset, c.offset, offset);
    return fits ? std::to_string(c.swizzle(offset)) : std::string("past 64 bits");
  };
  return words + ": at index " + std::to_string(index) + " they are " + value(a) + " and " + value(b);
}

std::vector<Outside> outside_of(const Layout& a, const Tiler& b) {
  std::vector<Outside> list;
  if (!b.by_mode) {
    list.push_back({0, a.size(), divide(a, b.layout)->size() - 1});
    return list;
  }
  const Verdict<Layout> parts = divide_modes(a, b.layout);
  for (int m = 0; m < a.rank(); ++m)
    if (parts->mode(m).size() > a.mode(m).size())
      list.push_back({m, a.mode(m).size(), parts->mode(m).size() - 1});
  return list;
}

Form form_of(std::string_view name) {
  if (name == "zipped") return Form::zipped;
  if (name == "tiled") return Form::tiled;
  return name == "flat" ? Form::flat : Form::logical;
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

std::string_view grade_name(Grade grade) {
  if (grade == Grade::overlapping) return "overlapping";
  return grade == Grade::padded ? "padded" : "exact";
}

}  // namespace warpfold::cli::layout_tool
