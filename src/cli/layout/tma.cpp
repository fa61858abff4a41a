// `tma`: the tensor map that fills a shared-memory tile from a global layout.
#include <cstdio>
#include <memory>

#include "cli/layout/hardware.h"
#include "warpfold/layout/hardware/tma.h"

namespace warpfold::cli::layout_tool {

using namespace layout;
namespace hw = layout::hardware;

namespace {

struct Arguments {
  std::string global, tile;
  int64_t bits = 16, address = 0;
};

}  // namespace

void add_tma_command(CLI::App& app) {
  const auto x = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("tma", "the tensor map that fills a tile of a global layout");
  sub->add_option("GLOBAL", x->global, "the tensor's layout, such as (4096,4096):(4096,1)")->required();
  sub->add_option("TILE", x->tile, "the tile in shared memory, such as Sw<3,3,3> o (128,64):(64,1)")
      ->required();
  add_number(sub, "--bits", x->bits, "bits of an element");
  add_number(sub, "--address", x->address, "global address of element 0");
  sub->callback([x] {
    const hw::SharedTile tile = read_tile("TILE", x->tile, x->bits);
    const hw::TileMap plan = answer(hw::tile_map(read_layout("GLOBAL", x->global), tile, x->address));
    const hw::TensorMap& t = plan.map;
    const auto number = [](int64_t n) { return static_cast<long long>(n); };
    std::printf("%d dimensions, box of %lld bytes, ", t.rank, number(t.box_bytes()));
    if (t.swizzle == hw::SwizzleMode::none)
      std::printf("no swizzle\n");
    else
      std::printf("swizzle of %lld bytes\n", number(hw::span_bytes(t.swizzle)));
    for (int i = 0; i < t.rank; ++i)
      std::printf("dimension %d: size %lld, stride %lld bytes, box %lld; steps of %lld along mode %d\n", i,
                  number(t.size[i]), number(t.stride[i] * t.element_bytes), number(t.box[i]),
                  number(plan.step[i]), plan.mode[i]);
  });
}

}  // namespace warpfold::cli::layout_tool
