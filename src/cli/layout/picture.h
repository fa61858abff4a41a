// A picture of a layout as a grid of coloured cells, independent of how it is drawn.
#pragma once

#include <string>
#include <vector>

#include "cli/layout/common.h"

namespace warpfold::cli::layout_tool {

struct Cell {
  std::string text;   // the number in the cell
  std::string small;  // a second line, may be empty
  std::string note;   // shown when the pointer rests on the cell
  int colour = -1;    // index into `colours` colours; -1: white
};

struct Picture {
  std::string title;
  int rows = 0, columns = 0;
  int colours = 8;
  std::vector<Cell> cells;  // (rows, columns), row by row
  std::vector<int> row_tiles, column_tiles;  // rows, columns of the nested tiles, from the innermost out
  std::vector<std::string> legend;           // what the colours and numbers mean

  Cell& at(int row, int column) { return cells[static_cast<std::size_t>(row) * columns + column]; }
  const Cell& at(int row, int column) const {
    return cells[static_cast<std::size_t>(row) * columns + column];
  }
};

enum class Colouring { offset, tile, bank };

// Rows are mode 0, columns the other modes; a rank-1 layout is one row.
Picture picture_of_offsets(const layout::ComposedLayout& l, Colouring colouring, int64_t bytes);

// A thread-value layout (threads, values) -> index in a tile of rows x columns, column-major.
Picture picture_of_threads(const layout::ComposedLayout& tv, int64_t rows, int64_t columns);

std::string terminal(const Picture& picture, bool ansi);
std::string svg(const Picture& picture);
std::string html(const Picture& picture);

}  // namespace warpfold::cli::layout_tool
