// `chain`: what a compiled kernel configuration is made of, from global memory to registers and back, and
// what was proved about it while it was compiled.
#include <cstdio>
#include <memory>

#include "cli/layout/hardware.h"
#include "cli/layout/picture.h"
#include "warpfold/kernels/attention/proofs.h"
#include "warpfold/kernels/attention/tiles.h"
#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/gemm/proofs.h"
#include "warpfold/kernels/weight_only/proofs.h"
#include "warpfold/kernels/weight_only/tiles.h"

namespace warpfold::cli::layout_tool {

namespace attention = kernels::attention;
namespace gemm = kernels::gemm;
namespace hw = layout::hardware;
namespace weight_only = kernels::weight_only;

namespace {

struct Named {
  std::string name;
  kernels::Chain chain;
};

std::vector<Named> all_chains() {
  std::vector<Named> list;
  for (const gemm::TileId id : gemm::all_tiles)
    gemm::with_tile(id, [&](auto tile) {
      list.push_back({std::string("gemm_") + tile.name, gemm::chain_of(id)});
      if (!tile.promoted) list.push_back({std::string("gemm_int8_") + tile.name, gemm::chain_of(id, DType::kI8)});
    });
  for (const attention::TileId id : attention::all_tiles)
    list.push_back({"attention_" + attention::with_tile(id, [](auto t) { return std::string(t.name); }),
                    attention::chain_of(id)});
  for (const weight_only::TileId id : weight_only::all_tiles)
    list.push_back({"weight_only_" + weight_only::with_tile(id, [](auto t) { return std::string(t.name); }),
                    weight_only::chain_of(id)});
  return list;
}

std::string text(std::string_view s) { return std::string(s); }

// Sections of lines: what the terminal and the page show.
struct Section {
  std::string title;
  std::vector<std::string> lines;
};

template <class... A>
std::string format(const char* pattern, A... a) {
  char line[512];
  std::snprintf(line, sizeof line, pattern, a...);
  return line;
}

std::vector<Section> describe(const kernels::Chain& c) {
  std::vector<Section> out;
  Section plan{"shared memory", {}};
  for (int i = 0; i < c.plan.pieces; ++i) {
    const kernels::SharedPiece& p = c.plan.piece[i];
    plan.lines.push_back(format("%8d  %8d bytes  %2d x %6d  on %4d  %s", p.offset, p.bytes, p.count,
                                p.bytes / p.count, p.alignment, text(p.name).c_str()));
  }
  plan.lines.push_back(format("%8d  of %d bytes", c.plan.bytes, int(hw::max_shared_bytes)));
  out.push_back(plan);

  Section tiles{"tiles", {}};
  for (const kernels::TileReport& t : c.tiles) {
    tiles.lines.push_back(format("%-14s Sw<%d,4,3> on bytes o %s, %d-byte elements", text(t.name).c_str(),
                                 t.tile.swizzle.bits, print(t.tile.layout).c_str(), t.tile.element_bytes));
    tiles.lines.push_back(format("%-14s TMA: %d box%s of (%d, %d) elements, %lld bytes each", "", t.boxes,
                                 t.boxes == 1 ? "" : "es", int(t.map.box[0]), int(t.map.box[1]),
                                 static_cast<long long>(t.map.box_bytes())));
    if (t.is_operand)
      tiles.lines.push_back(
          format("%-14s WGMMA: %d block%s of %d rows x %d steps of K, LBO %d, SBO %d, descriptor 0x%016llx",
                 "", int(t.operand.blocks), t.operand.blocks == 1 ? "" : "s", int(t.operand.mn),
                 int(t.operand.steps), int(t.operand.first.leading_bytes), int(t.operand.first.stride_bytes),
                 static_cast<unsigned long long>(t.operand.first.bits)));
  }
  out.push_back(tiles);

  Section barriers{"barriers", {}};
  for (const kernels::BarrierReport& b : c.barriers)
    barriers.lines.push_back(format("%2d x %-10s a phase ends with %d arrival%s%s", b.count,
                                    text(b.name).c_str(), b.arrivals, b.arrivals == 1 ? "" : "s",
                                    b.bytes > 0 ? format(" and %d bytes", b.bytes).c_str() : ""));
  out.push_back(barriers);

  Section accesses{"bank conflicts", {}};
  for (const kernels::AccessReport& a : c.accesses)
    accesses.lines.push_back(
        format("%-30s %d wavefronts, %d without conflicts", text(a.name).c_str(), a.wavefronts, a.ideal));
  if (!accesses.lines.empty()) out.push_back(accesses);

  Section steps{"chain: each step a bijection", {}};
  for (const kernels::StepReport& s : c.steps)
    steps.lines.push_back(
        format("%-40s %7lld elements", text(s.name).c_str(), static_cast<long long>(s.elements)));
  out.push_back(steps);

  Section registers{"registers and occupancy", {}};
  registers.lines.push_back(format("%d accumulators, about %d registers needed, %d given; producer %d",
                                   c.accumulators, c.registers_needed, c.math_registers,
                                   c.producer_registers));
  registers.lines.push_back(
      format("%d registers of a block of %d threads; %d block%s a multiprocessor; cluster of %d",
             c.registers_of_block, c.threads, c.blocks_per_multiprocessor,
             c.blocks_per_multiprocessor == 1 ? "" : "s", c.cluster));
  out.push_back(registers);
  out.push_back({"verdict", {c.why.length == 0 ? "proved" : text(c.why.view())}});
  return out;
}

// The first rows of a tile in units of 16 bytes: where each lies, coloured by its four banks.
Picture picture_of_units(const kernels::TileReport& t) {
  Picture p;
  const bool k_major = t.major == hw::Major::k;
  const int unit = 16 / t.tile.element_bytes;
  const int64_t width = t.tile.layout.mode(k_major ? 1 : 0).size();
  p.title = text(t.name) + ": 16-byte units of the first 16 rows";
  p.rows = 16;
  p.columns = int(width / unit);
  p.row_tiles = {8};
  p.cells.resize(size_t(p.rows) * size_t(p.columns));
  p.legend = {"numbers: 16-byte unit of the tile in shared memory", "colours: the four banks of a unit"};
  for (int row = 0; row < p.rows; ++row)
    for (int u = 0; u < p.columns; ++u) {
      const int64_t element = k_major ? t.tile.layout.mode(0)(row) + t.tile.layout.mode(1)(u * unit)
                                      : t.tile.layout.mode(0)(u * unit) + t.tile.layout.mode(1)(row);
      const int64_t byte = t.tile.swizzle(element * t.tile.element_bytes);
      p.at(row, u) = {std::to_string(byte / 16), "",
                      "row " + std::to_string(row) + ", byte " + std::to_string(byte), int(byte / 16 % 8)};
    }
  return p;
}

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

void print_page(const Named& n) {
  std::printf(
      "<!doctype html><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
      "<title>%s</title><style>body{font:15px system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}"
      "pre{background:#f4f4f4;padding:.7rem;overflow-x:auto}svg{max-width:100%%;height:auto}</style><h1>%s</"
      "h1>\n",
      n.name.c_str(), n.name.c_str());
  for (const Section& s : describe(n.chain)) {
    std::printf("<h2>%s</h2>\n<pre>", s.title.c_str());
    for (const std::string& line : s.lines) std::printf("%s\n", escaped(line).c_str());
    std::printf("</pre>\n");
    if (s.title == "tiles")
      for (const kernels::TileReport& t : n.chain.tiles)
        std::printf("%s\n", svg(picture_of_units(t)).c_str());
  }
}

}  // namespace

void add_chain_command(CLI::App& app) {
  struct Arguments {
    std::string name;
    bool html = false;
  };
  const auto x = std::make_shared<Arguments>();
  CLI::App* sub =
      app.add_subcommand("chain", "a kernel configuration from global memory to registers and back");
  sub->add_option("NAME", x->name, "the configuration; without it, their names");
  sub->add_flag("--html", x->html, "a page with pictures, on standard output");
  sub->callback([x] {
    const std::vector<Named> chains = all_chains();
    if (x->name.empty()) {
      for (const Named& n : chains) std::printf("%s\n", n.name.c_str());
      return;
    }
    for (const Named& n : chains) {
      if (n.name != x->name) continue;
      if (x->html) return print_page(n);
      for (const Section& s : describe(n.chain)) {
        std::printf("%s\n", s.title.c_str());
        for (const std::string& line : s.lines) std::printf("  %s\n", line.c_str());
      }
      return;
    }
    throw CommandError{
        2, "NAME: no configuration is called " + x->name + "; `warpfold layout chain` lists them"};
  });
}

}  // namespace warpfold::cli::layout_tool
