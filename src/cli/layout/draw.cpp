// Draws a picture in the terminal, as SVG and as a page, and the `draw` sub-command.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>

#include "cli/layout/picture.h"

namespace warpfold::cli::layout_tool {

using namespace layout;

namespace {

// Light, evenly spaced hues: dark text stays readable on each.
struct Rgb {
  int red, green, blue;
};

Rgb colour(int index, int colours) {
  constexpr Rgb eight[] = {{174, 208, 240}, {255, 221, 160}, {181, 226, 181}, {246, 186, 186},
                           {214, 196, 238}, {240, 240, 150}, {165, 228, 222}, {244, 200, 226}};
  if (colours <= 8) return eight[index % 8];
  const double hue = 360.0 * index / colours, light = index % 2 == 0 ? 0.80 : 0.70;
  const double chroma = (1 - std::fabs(2 * light - 1)) * 0.65, base = light - chroma / 2;
  const auto channel = [&](double shift) {
    const double h = std::fmod(hue + shift, 360.0) / 60.0;
    return static_cast<int>(255 * (base + chroma * std::clamp(std::min(h, 4 - h), 0.0, 1.0)));
  };
  return {channel(120), channel(0), channel(240)};
}

std::string hex(const Rgb& c) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", c.red, c.green, c.blue);
  return text;
}

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string centred(const std::string& text, std::size_t width) {
  const std::size_t space = width > text.size() ? width - text.size() : 0;
  return std::string(space - space / 2, ' ') + text + std::string(space / 2, ' ');
}

std::string legend_of(const Picture& p, const char* separator) {
  std::string legend;
  for (const std::string& line : p.legend) legend += (legend.empty() ? "" : separator) + line;
  return legend;
}

// The outermost of the nested tiles that ends before row or column `at`, counted from the outermost: 0, 1,
// ...; -1 when none does.
int tile_edge(int at, int count, const std::vector<int>& tiles) {
  for (std::size_t level = 0; at > 0 && at < count && level < tiles.size(); ++level)
    if (at % tiles[tiles.size() - 1 - level] == 0) return static_cast<int>(level);
  return -1;
}

}  // namespace

std::string terminal(const Picture& p, bool ansi) {
  std::size_t width = std::to_string(std::max(p.columns - 1, 0)).size();
  bool second = false;
  for (const Cell& cell : p.cells) {
    width = std::max({width, cell.text.size(), cell.small.size()});
    second = second || !cell.small.empty();
  }
  width += 2;
  const std::size_t margin = std::to_string(std::max(p.rows - 1, 0)).size() + 1;
  const auto paint = [&](const Cell& cell, const std::string& text) {
    if (!ansi || cell.colour < 0) return text;
    const Rgb c = colour(cell.colour, p.colours);
    return "\033[48;2;" + std::to_string(c.red) + ";" + std::to_string(c.green) + ";" +
           std::to_string(c.blue) + "m\033[38;2;0;0;0m" + text + "\033[0m";
  };
  const auto column_edge = [&p](int j) { return tile_edge(j, p.columns, p.column_tiles); };
  std::string out = p.title + "\n" + std::string(margin, ' ');
  for (int j = 0; j < p.columns; ++j)
    out.append(column_edge(j) >= 0 ? " " : "").append(centred(std::to_string(j), width));
  out += "\n";
  for (int i = 0; i < p.rows; ++i) {
    if (const int edge = tile_edge(i, p.rows, p.row_tiles); edge >= 0) {
      out += std::string(margin, ' ');
      for (int j = 0; j < p.columns; ++j)
        out.append(column_edge(j) >= 0 ? "+" : "").append(width, edge == 0 ? '-' : '.');
      out += "\n";
    }
    for (int line = 0; line < (second ? 2 : 1); ++line) {
      const std::string label = line == 0 ? std::to_string(i) : "";
      out += std::string(margin - 1 - label.size(), ' ') + label + " ";
      for (int j = 0; j < p.columns; ++j) {
        const Cell& cell = p.at(i, j);
        out.append(column_edge(j) < 0 ? "" : column_edge(j) == 0 ? "|" : ":");
        out.append(paint(cell, centred(line == 0 ? cell.text : cell.small, width)));
      }
      out += "\n";
    }
  }
  if (!ansi && !second) return out;  // numbers alone need no explanation
  out += std::string(margin, ' ') + legend_of(p, ", ") + "\n";
  return out;
}

std::string svg(const Picture& p) {
  std::size_t digits = 2;
  bool second = false;
  for (const Cell& cell : p.cells) {
    digits = std::max({digits, cell.text.size(), cell.small.size() * 8 / 10});
    second = second || !cell.small.empty();
  }
  const int cell_width = static_cast<int>(std::max<std::size_t>(30, 14 + 8 * digits)),
            cell_height = second ? 38 : 28;
  const int left = 44, top = 58, foot = 30;
  const std::string legend = legend_of(p, "   ·   ");
  const int grid_width = cell_width * p.columns, grid_height = cell_height * p.rows;
  const int text_width = 8 + static_cast<int>(std::max(p.title.size() * 9, legend.size() * 7));
  const int width = std::max(left + grid_width + 12, left + text_width), height = top + grid_height + foot;
  const auto n = [](int number) { return std::to_string(number); };
  const auto text = [&](int x, int y, const char* style, const std::string& words) {
    return "<text x=\"" + n(x) + "\" y=\"" + n(y) + "\" class=\"" + style + "\">" + escape(words) +
           "</text>\n";
  };
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + n(width) + "\" height=\"" + n(height) +
      "\" viewBox=\"0 0 " + n(width) + " " + n(height) +
      "\">\n<style>text{font-family:DejaVu Sans Mono,Menlo,monospace;fill:#1a1a1a}"
      ".t{font-size:15px;font-weight:bold}.l{font-size:11px;fill:#777;text-anchor:middle}"
      ".c{font-size:13px;text-anchor:middle}.s{font-size:10px;fill:#444;text-anchor:middle}"
      ".g{font-size:11px;fill:#555}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  out += text(left, 24, "t", p.title);
  for (int j = 0; j < p.columns; ++j) out += text(left + j * cell_width + cell_width / 2, top - 8, "l", n(j));
  for (int i = 0; i < p.rows; ++i) {
    out += text(left - 16, top + i * cell_height + cell_height / 2 + 4, "l", n(i));
    for (int j = 0; j < p.columns; ++j) {
      const Cell& cell = p.at(i, j);
      const int x = left + j * cell_width, y = top + i * cell_height;
      const std::string fill = cell.colour < 0 ? "#fff" : hex(colour(cell.colour, p.colours));
      out += "<g><title>" + escape(cell.note) + "</title><rect x=\"" + n(x) + "\" y=\"" + n(y) +
             "\" width=\"" + n(cell_width) + "\" height=\"" + n(cell_height) + "\" fill=\"" + fill +
             "\" stroke=\"#9a9a9a\"/>";
      const int middle = x + cell_width / 2;
      out += text(middle, y + (cell.small.empty() ? cell_height / 2 + 5 : 17), "c", cell.text);
      if (!cell.small.empty()) out += text(middle, y + 31, "s", cell.small);
      out += "</g>\n";
    }
  }
  // The edges of the outermost tiles are the heaviest.
  const auto line = [&](int edge, int x1, int y1, int x2, int y2) {
    if (edge < 0) return;
    out += "<path d=\"M" + n(x1) + " " + n(y1) + "L" + n(x2) + " " + n(y2) +
           "\" stroke=\"#1a1a1a\" stroke-width=\"" +
           (edge == 0   ? "2.5"
            : edge == 1 ? "1.4"
                        : "0.9") +
           "\" stroke-linecap=\"square\"/>\n";
  };
  for (int i = 0; i <= p.rows; ++i)
    line(i == 0 || i == p.rows ? 0 : tile_edge(i, p.rows, p.row_tiles), left, top + i * cell_height,
         left + grid_width, top + i * cell_height);
  for (int j = 0; j <= p.columns; ++j)
    line(j == 0 || j == p.columns ? 0 : tile_edge(j, p.columns, p.column_tiles), left + j * cell_width, top,
         left + j * cell_width, top + grid_height);
  return out + text(left, top + grid_height + 20, "g", legend) + "</svg>\n";
}

std::string html(const Picture& p) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escape(p.title) +
         "</title>\n<style>body{margin:24px;font-family:sans-serif}g:hover rect{stroke:#000;stroke-width:2}"
         ".frame{overflow:auto}</style></head>\n<body>\n<div class=\"frame\">\n" +
         svg(p) +
         "</div>\n<p>Rest the pointer on a cell for its coordinate, index and offset.</p>\n</body></html>\n";
}

void add_draw_command(CLI::App& app) {
  struct Arguments {
    std::string layout, colour, tv, svg_file, html_file;
    int64_t bytes = 4;
    bool ansi = false;
  };
  const auto x = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("draw", "a picture in the terminal, or as SVG or HTML");
  sub->add_option("A", x->layout, "a layout, with or without Sw<B,M,S> in front")->required();
  CLI::Option* colour =
      sub->add_option("--colour", x->colour, "by offset mod 8 (default), by tile, or by shared-memory bank")
          ->check(CLI::IsMember({"offset", "tile", "bank"}));
  add_number(sub, "--bytes", x->bytes, "bytes an element, for banks: a power of two up to 128; default 4");
  sub->add_option("--threads-on", x->tv, "A is (threads, values) on a tile of this shape, such as (8,8)")
      ->excludes(colour);
  sub->add_option("--svg", x->svg_file, "write an SVG file");
  sub->add_option("--html", x->html_file, "write an HTML page");
  sub->add_flag("--ansi", x->ansi, "colours even where the output is no terminal");
  sub->callback([x] {
    const ComposedLayout l = read_composed("A", x->layout);
    if (x->bytes < 1 || x->bytes > 128 || (x->bytes & (x->bytes - 1)) != 0)
      throw CommandError{
          2, "--bytes: an element has 1, 2, 4, ... or 128 bytes, not " + std::to_string(x->bytes)};
    Picture picture;
    if (!x->tv.empty()) {
      const IntTuple tile = read_tuple("--threads-on", x->tv);
      if (tile.leaves() != 2 || tile.rank() != 2)
        throw CommandError{2, "--threads-on: a tile has two sizes, such as (8,8)"};
      picture = picture_of_threads(l, tile.value[0], tile.value[1]);
    } else {
      const Colouring colouring = x->colour == "tile"   ? Colouring::tile
                                  : x->colour == "bank" ? Colouring::bank
                                                        : Colouring::offset;
      picture = picture_of_offsets(l, colouring, x->bytes);
    }
    const auto write = [](const std::string& name, const std::string& text) {
      std::ofstream file(name, std::ios::binary);
      file << text;
      file.close();
      if (!file) throw CommandError{1, name + ": cannot be written"};
    };
    if (!x->svg_file.empty()) write(x->svg_file, svg(picture));
    if (!x->html_file.empty()) write(x->html_file, html(picture));
    if (x->svg_file.empty() && x->html_file.empty())
      std::fputs(terminal(picture, x->ansi || isatty(STDOUT_FILENO) != 0).c_str(), stdout);
  });
}

}  // namespace warpfold::cli::layout_tool
