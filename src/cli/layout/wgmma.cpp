// `wgmma`: the matrix descriptor of a tile, or why it is not canonical; with --swizzle, the canonical tile of
// a shape.
#include <cinttypes>
#include <cstdio>
#include <memory>

#include "cli/layout/hardware.h"
#include "warpfold/layout/hardware/wgmma.h"

namespace warpfold::cli::layout_tool {

using namespace layout;
namespace hw = layout::hardware;

namespace {

constexpr int64_t all_rows = int64_lowest;

struct Arguments {
  std::string tile, major = "k", swizzle;
  int64_t bits = 16, address = 0, rows = all_rows;
};

hw::Major read_major(const std::string& text) {
  if (text == "k" || text == "K") return hw::Major::k;
  if (text == "mn" || text == "MN") return hw::Major::mn;
  throw CommandError{2, "--major: k or mn, not " + text};
}

hw::SwizzleMode read_mode(const std::string& text) {
  if (text == "none" || text == "0") return hw::SwizzleMode::none;
  if (text == "32") return hw::SwizzleMode::b32;
  if (text == "64") return hw::SwizzleMode::b64;
  if (text == "128") return hw::SwizzleMode::b128;
  throw CommandError{2, "--swizzle: none, 32, 64 or 128 bytes, not " + text};
}

void build(const Arguments& x) {
  const IntTuple shape = read_tuple("TILE", x.tile);
  if (shape.rank() != 2 || shape.leaves() != 2) throw CommandError{2, "TILE: with --swizzle, a shape (MN,K)"};
  const hw::SharedTile tile = answer(hw::canonical_tile(read_major(x.major), read_mode(x.swizzle),
                                                        element_bytes(x.bits), shape[0], shape[1]));
  const ComposedLayout c{answer(recast(tile.swizzle, 8, x.bits)), 0, tile.layout};
  std::printf("%s\n", print(c).c_str());
}

void describe(const Arguments& x) {
  if (x.rows == 0) throw CommandError{2, "--rows: a block has 8 to 256 rows, not 0"};
  const hw::Major major = read_major(x.major);
  const hw::SharedTile tile = read_tile("TILE", x.tile, x.bits);
  const hw::Verdict<hw::WgmmaOperand> operand =
      hw::wgmma_operand(tile, major, x.address, x.rows == all_rows ? 0 : x.rows);
  if (operand.why.rule == hw::Rule::wgmma_rows && operand.why.n[1] != 0)
    throw CommandError{1, std::string(operand.reason().view()) + " (--rows 64)"};
  const hw::WgmmaOperand o = answer(operand);
  const hw::WgmmaDescriptor& d = o.first;
  const auto number = [](int64_t n) { return static_cast<long long>(n); };
  const std::string span =
      d.mode == hw::SwizzleMode::none ? "no" : std::to_string(hw::span_bytes(d.mode)) + "-byte";
  std::printf("canonical, %s-major, %s swizzle, LBO %lld, SBO %lld, base offset %d\n",
              major == hw::Major::k ? "K" : "MN", span.c_str(), number(d.leading_bytes),
              number(d.stride_bytes), d.base_offset);
  std::printf("%lld of %lld rows, %lld of %lld in K\n", number(o.blocks), number(o.mn), number(o.steps),
              number(hw::wgmma_k(tile.element_bytes)));
  for (int64_t block = 0; block < o.blocks; ++block)
    for (int64_t step = 0; step < o.steps; ++step)
      std::printf("rows %lld, k %lld: 0x%016" PRIx64 "\n", number(block * o.mn),
                  number(step * hw::wgmma_k(tile.element_bytes)), hw::descriptor_bits(o, tile, block, step));
}

}  // namespace

void add_wgmma_command(CLI::App& app) {
  const auto x = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("wgmma", "the matrix descriptors of an operand tile (MN,K)");
  sub->add_option("TILE", x->tile, "the tile, such as Sw<3,3,3> o (64,64):(64,1); with --swizzle its shape")
      ->required();
  sub->add_option("--major", x->major, "k or mn: along which mode 16 bytes lie together");
  add_number(sub, "--bits", x->bits, "bits of an element: 8, 16 or 32");
  CLI::Option* address = add_number(sub, "--address", x->address, "shared address of element 0");
  CLI::Option* rows = add_number(sub, "--rows", x->rows, "rows of one instruction, 8 to 256; default: all");
  sub->add_option("--swizzle", x->swizzle, "none, 32, 64 or 128: print the canonical tile of the shape TILE")
      ->excludes(address)
      ->excludes(rows);
  sub->callback([x] { x->swizzle.empty() ? describe(*x) : build(*x); });
}

}  // namespace warpfold::cli::layout_tool
