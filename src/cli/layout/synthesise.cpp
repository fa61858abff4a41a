// `synthesise`: the swizzle or padding with the fewest wavefronts for the ways in which a tile is written and
// read.
#include <cstdio>
#include <memory>
#include <vector>

#include "cli/layout/hardware.h"
#include "warpfold/layout/hardware/synthesis.h"

namespace warpfold::cli::layout_tool {

using namespace layout;
namespace hw = layout::hardware;

namespace {

struct Arguments {
  std::string tile;
  std::vector<std::string> patterns;
  int64_t bits = 16;
};

// ACCESS@LANES, such as ldmatrix.x4@(16,2):(64,8).
hw::TilePattern read_pattern(const std::string& text, int64_t bytes) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos)
    throw CommandError{2, "a pattern is ACCESS@LANES, such as 128@32:8, not " + text};
  hw::TilePattern pattern;
  pattern.access = read_access(text.substr(0, at));
  pattern.lanes = read_layout("LANES", text.substr(at + 1));
  for (int i = 0; i < pattern.lanes.leaves(); ++i)
    if (!checked_mul(pattern.lanes.stride[i], bytes, pattern.lanes.stride[i]))
      throw CommandError{2, "LANES: overflow: the stride does not fit 64 bits in bytes"};
  answer(checked(pattern.lanes));
  return pattern;
}

}  // namespace

void add_synthesise_command(CLI::App& app) {
  const auto x = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("synthesise", "the swizzle or padding with the fewest bank conflicts");
  sub->add_option("TILE", x->tile, "(rows,columns) of a row-major tile")->required();
  sub->add_option("PATTERNS", x->patterns, "ACCESS@LANES: (lane, instruction) -> element of the plain tile")
      ->required();
  add_number(sub, "--bits", x->bits, "bits of an element");
  sub->callback([x] {
    const int bytes = element_bytes(x->bits);
    const IntTuple shape = read_tuple("TILE", x->tile);
    if (shape.leaves() != 2 || shape.rank() != 2) throw CommandError{2, "TILE: (rows,columns)"};
    int64_t row_bytes = 0;
    if (!checked_mul(shape[1], bytes, row_bytes))
      throw CommandError{2, "TILE: overflow: the row does not fit 64 bits"};
    std::vector<hw::TilePattern> patterns;
    for (const std::string& p : x->patterns) patterns.push_back(read_pattern(p, bytes));
    const hw::Synthesis s =
        answer(hw::synthesise(shape[0], row_bytes, patterns.data(), static_cast<int>(patterns.size())));
    const auto number = [](int64_t n) { return static_cast<long long>(n); };
    if (s.best.padding > 0)
      std::printf("rows padded by %lld bytes: (%lld,%lld):(%lld,1)", number(s.best.padding), number(shape[0]),
                  number(shape[1]), number((row_bytes + s.best.padding) / bytes));
    else if (s.best.swizzle.bits == 0)
      std::printf("no swizzle needed");
    else
      std::printf("%s on bytes%s", print(s.best.swizzle).c_str(), s.best.tma ? ", which TMA writes" : "");
    std::printf("\n%lld wavefronts, plain %lld, without conflicts %lld; best of %lld arrangements\n",
                number(s.wavefronts), number(s.plain), number(s.ideal), number(s.candidates));
    for (std::size_t i = 0; i < patterns.size(); ++i)
      std::printf("%s: %lld, plain %lld, without conflicts %lld\n", x->patterns[i].c_str(),
                  number(s.best_of[i]), number(s.plain_of[i]), number(s.ideal_of[i]));
  });
}

}  // namespace warpfold::cli::layout_tool
