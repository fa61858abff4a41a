// Fills the grid: which cell holds which offset, thread, bank, and in which colour.
#include "cli/layout/picture.h"

namespace warpfold::cli::layout_tool {

using namespace layout;

namespace {

constexpr int64_t most_cells = 16384;

Picture grid(int64_t rows, int64_t columns) {
  if (rows < 1 || columns < 1)
    throw CommandError{2, "a picture has at least 1 x 1 cells, not " + std::to_string(rows) + " x " +
                              std::to_string(columns)};
  if (rows > most_cells || columns > most_cells || rows * columns > most_cells)
    throw CommandError{1, "a picture of " + std::to_string(rows) + " x " + std::to_string(columns) +
                              " cells is too large; draw one tile of it"};
  Picture p;
  p.rows = static_cast<int>(rows);
  p.columns = static_cast<int>(columns);
  p.cells.resize(static_cast<std::size_t>(rows * columns));
  return p;
}

// The sizes of the tiles that leaves [begin, end) of l nest in one another, without the whole.
std::vector<int> nested_tiles(const Layout& l, int begin, int end) {
  std::vector<int> tiles;
  int64_t size = 1;
  for (int i = begin; i + 1 < end; ++i) {
    size *= l.shape[i];
    if (l.shape[i] > 1) tiles.push_back(static_cast<int>(size));
  }
  return tiles;
}

}  // namespace

Picture picture_of_offsets(const ComposedLayout& composed, Colouring colouring, int64_t bytes) {
  const Layout& l = composed.layout;
  const int rank = l.rank();
  const int64_t rows = rank >= 2 ? l.mode(0).size() : 1;
  Picture p = grid(rows, l.size() / rows);
  p.title = print(composed);
  const int first_column = rank >= 2 ? l.profile.mode_begin(1) : 0;  // the leaf that runs along a row
  p.row_tiles = nested_tiles(l, 0, first_column);
  p.column_tiles = nested_tiles(l, first_column, l.leaves());
  const int row_tile = p.row_tiles.empty() ? p.rows : p.row_tiles[0];
  const int column_tile = p.column_tiles.empty() ? p.columns : p.column_tiles[0];
  const int tiles_down = (p.rows + row_tile - 1) / row_tile;
  for (int i = 0; i < p.rows; ++i)
    for (int j = 0; j < p.columns; ++j) {
      const int64_t index = i + rows * j, offset = composed(index);
      Cell& cell = p.at(i, j);
      cell.text = std::to_string(offset);
      cell.note = "coordinate " + print(l.coordinate(index)) + ", index " + std::to_string(index) +
                  ", offset " + cell.text;
      if (colouring == Colouring::offset) cell.colour = static_cast<int>(floor_mod(offset, 8));
      if (colouring == Colouring::tile) cell.colour = (i / row_tile + tiles_down * (j / column_tile)) % 8;
      if (colouring == Colouring::bank) {
        // Banks repeat every 128 bytes, so every 128 elements.
        const int64_t bank = floor_mod(offset, 128) * bytes / 4 % 32, wide = bytes > 4 ? bytes / 4 : 1;
        cell.small = wide == 1 ? "b" + std::to_string(bank)
                               : "b" + std::to_string(bank) + "-" + std::to_string(bank + wide - 1);
        cell.colour = static_cast<int>(bank / wide);
        cell.note += ", bank " + cell.small.substr(1);
        p.colours = static_cast<int>(32 / wide);
      }
    }
  if (colouring == Colouring::offset) p.legend = {"number: offset", "colour: offset mod 8"};
  if (colouring == Colouring::tile) p.legend = {"number: offset", "colour: tile"};
  if (colouring == Colouring::bank)
    p.legend = {"number: offset in elements of " + std::to_string(bytes) + " bytes",
                "colour and b: shared-memory bank"};
  return p;
}

Picture picture_of_threads(const ComposedLayout& tv, int64_t rows, int64_t columns) {
  if (tv.layout.rank() != 2) throw CommandError{2, "a thread-value layout has two modes, (threads, values)"};
  Picture p = grid(rows, columns);
  p.title = print(tv) + " on " + std::to_string(rows) + " x " + std::to_string(columns);
  p.legend = {"T: thread", "V: value of the thread", "colour: thread mod 8"};
  const int64_t threads = tv.layout.mode(0).size();
  if (tv.size() > 16 * most_cells)
    throw CommandError{1, std::to_string(tv.size()) + " threads' values are too many for a picture"};
  for (int64_t x = 0; x < tv.size(); ++x) {
    const int64_t index = tv(x), thread = x % threads, value = x / threads;
    if (index < 0 || index >= rows * columns)
      throw CommandError{1, "thread " + std::to_string(thread) + " value " + std::to_string(value) +
                                " is at index " + std::to_string(index) + ", outside the tile of " +
                                std::to_string(rows * columns)};
    Cell& cell = p.at(static_cast<int>(index % rows), static_cast<int>(index / rows));
    cell.note += (cell.note.empty() ? "" : "; ") + std::string("thread ") + std::to_string(thread) +
                 " value " + std::to_string(value);
    if (!cell.text.empty()) {
      cell.small = "shared";
      continue;
    }
    cell.text = "T" + std::to_string(thread);
    cell.small = "V" + std::to_string(value);
    cell.colour = static_cast<int>(thread % 8);
  }
  return p;
}

}  // namespace warpfold::cli::layout_tool
