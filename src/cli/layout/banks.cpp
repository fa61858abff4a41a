// `banks`: wavefronts of a warp's shared-memory access, phase by phase, or the sectors of a global one.
#include <cstdio>
#include <memory>

#include "cli/layout/hardware.h"
#include "warpfold/layout/hardware/banks.h"
#include "warpfold/layout/hardware/coalescing.h"

namespace warpfold::cli::layout_tool {

using namespace layout;
namespace hw = layout::hardware;

namespace {

struct Arguments {
  std::string lanes, access = "128";
  int64_t bits = 16;
  bool global = false;
};

constexpr int64_t most_lanes = int64_t{1} << 20, most_lines = 64;

int64_t byte_at(const ComposedLayout& lanes, int64_t x, int64_t bytes) {
  int64_t byte = 0;
  if (!checked_mul(lanes(x), bytes, byte))
    throw CommandError{1, "overflow: offset " + std::to_string(lanes(x)) + " in elements of " +
                              std::to_string(bytes) + " bytes does not fit 64 bits"};
  return byte;
}

void shared_memory(const ComposedLayout& lanes, const std::string& name, int64_t bytes) {
  const hw::SharedAccess access = read_access(name);
  const hw::AccessShape shape = hw::shape_of(access);
  if (lanes.size() > most_lanes)
    throw CommandError{1, std::to_string(lanes.size()) + " lanes are too many to count, at most " +
                              std::to_string(most_lanes) + "; give the instructions that differ"};
  if (lanes.size() < shape.lanes || lanes.size() % shape.lanes != 0)
    throw CommandError{1, "the access needs " + std::to_string(shape.lanes) + " lanes, the layout has " +
                              std::to_string(lanes.size())};
  int64_t total = 0, ideal = 0;
  for (int64_t first = 0; first < lanes.size(); first += shape.lanes) {
    const auto r =
        answer(hw::bank_conflicts(access, [&](int lane) { return byte_at(lanes, first + lane, bytes); }));
    total += r.total;
    ideal += r.ideal;
    if (first / shape.lanes >= most_lines) continue;
    std::string line =
        name + (lanes.size() > shape.lanes ? " " + std::to_string(first / shape.lanes) : "") + ":";
    for (int p = 0; p < r.phases; ++p) line += " " + std::to_string(r.wavefronts[p]);
    line +=
        r.phases == 1 ? " wavefronts in 1 phase" : " wavefronts in " + std::to_string(r.phases) + " phases";
    if (r.degree > 1)
      line += "; " + std::to_string(r.degree) + "-way: phase " + std::to_string(r.worst_phase) +
              " asks bank " + std::to_string(r.worst_bank) + " for " + std::to_string(r.degree) + " words";
    std::printf("%s\n", line.c_str());
  }
  if (lanes.size() / shape.lanes > most_lines)
    std::printf("... and %lld more\n", static_cast<long long>(lanes.size() / shape.lanes - most_lines));
  std::printf("total %lld, without conflicts %lld\n", static_cast<long long>(total),
              static_cast<long long>(ideal));
}

void global_memory(const ComposedLayout& lanes, const std::string& access, int64_t bytes) {
  if (access != "8" && access != "16" && access != "32" && access != "64" && access != "128")
    throw CommandError{2, "a global access is 8, 16, 32, 64 or 128 bits wide, not " + access};
  const int width = std::stoi(access) / 8;
  if (lanes.size() != 32)
    throw CommandError{1, "the access needs 32 lanes, the layout has " + std::to_string(lanes.size())};
  const auto r = answer(hw::coalescing(width, [&](int lane) { return byte_at(lanes, lane, bytes); }));
  std::printf("%d sectors of 32 bytes for %lld bytes, at best %d; %d lines of 128 bytes\n", r.sectors,
              static_cast<long long>(r.bytes), r.ideal_sectors, r.lines);
}

}  // namespace

void add_banks_command(CLI::App& app) {
  const auto x = std::make_shared<Arguments>();
  CLI::App* sub =
      app.add_subcommand("banks", "bank conflicts of a warp's access: (lane, instruction) -> element");
  sub->add_option("LANES", x->lanes,
                  "a layout; its first 32 elements are the lanes (8, 16 for matrix.x1, .x2)")
      ->required();
  sub->add_option("--access", x->access, "32, 64, 128, ldmatrix.x1, .x2, .x4, stmatrix.x1, .x2, .x4");
  add_number(sub, "--bits", x->bits, "bits of an element");
  sub->add_flag("--global", x->global, "global memory: sectors and lines of an access of 8 to 128 bits");
  sub->callback([x] {
    const ComposedLayout lanes = read_composed("LANES", x->lanes);
    const int bytes = element_bytes(x->bits);
    x->global ? global_memory(lanes, x->access, bytes) : shared_memory(lanes, x->access, bytes);
  });
}

}  // namespace warpfold::cli::layout_tool
