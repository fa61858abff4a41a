// The predictions against what a chip answered: records/h200.json is the output of device_check.cu.
//
// Wavefronts and cycles: the shared-memory pipe takes one wavefront a cycle, and the issue of the
// instructions a little more, so an access of n wavefronts takes  n <= cycles <= 1.1 n. Relative to the
// conflict-free pattern of the same instruction, an access that needs r times its wavefronts takes 0.95 r
// to 1.05 r times its cycles. The patterns that are not graded, in which lanes share words, take no more than
// predicted.
//
// What ran is derived again from the names of the cases: the tiles, descriptors, fragments and tensor maps of
// today must be those with which the chip gave the right results.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "warpfold/layout/hardware/banks.h"
#include "warpfold/layout/hardware/fragments.h"
#include "warpfold/layout/hardware/tma.h"

namespace warpfold::layout::hardware {
namespace {

nlohmann::json record() {
  std::ifstream file(std::string(WARPFOLD_SOURCE_DIR) + "/tests/layout/hardware/records/h200.json");
  return file ? nlohmann::json::parse(file) : nlohmann::json();
}

SharedAccess access_of(const std::string& name) {
  for (const SharedAccess a : {SharedAccess::b32, SharedAccess::b64, SharedAccess::b128,
                               SharedAccess::matrix_x1, SharedAccess::matrix_x2, SharedAccess::matrix_x4})
    if (name_of(a) == name) return a;
  ADD_FAILURE() << "unknown access " << name;
  return SharedAccess::b32;
}

TEST(HardwareRecord, WavefrontsTakeAsManyCycles) {
  const nlohmann::json all = record();
  ASSERT_FALSE(all.is_null()) << "no record tests/layout/hardware/records/h200.json";
  struct Measured {
    std::string name;
    double wavefronts, cycles;
  };
  std::map<std::string, std::vector<Measured>> instructions;
  for (const auto& entry : all.at("banks")) {
    ASSERT_FALSE(entry.contains("error")) << entry.dump();
    const auto offsets = entry.at("offsets").get<std::vector<int64_t>>();
    const auto r = bank_conflicts(access_of(entry.at("access")),
                                  [&](int lane) { return offsets[static_cast<std::size_t>(lane)]; });
    ASSERT_TRUE(r);
    EXPECT_EQ(r->total, entry.at("predicted_wavefronts").get<int>()) << entry.at("pattern");
    if (!entry.at("graded").get<bool>()) {
      EXPECT_LE(entry.at("cycles_per_access").get<double>(), 1.1 * r->total) << entry.at("pattern");
      continue;
    }
    instructions[entry.at("access").get<std::string>() + " " + entry.at("direction").get<std::string>()]
        .push_back({entry.at("pattern"), static_cast<double>(r->total),
                    entry.at("cycles_per_access").get<double>()});
  }
  ASSERT_GE(instructions.size(), 12u);
  for (const auto& [instruction, list] : instructions) {
    const Measured* free = nullptr;
    for (const Measured& m : list)
      if (free == nullptr || m.wavefronts < free->wavefronts) free = &m;
    for (const Measured& m : list) {
      EXPECT_GE(m.cycles, m.wavefronts) << instruction << ", " << m.name;
      EXPECT_LE(m.cycles, 1.1 * m.wavefronts) << instruction << ", " << m.name;
      const double ratio = m.wavefronts / free->wavefronts, slower = m.cycles / free->cycles;
      EXPECT_GE(slower, 0.95 * ratio) << instruction << ", " << m.name;
      EXPECT_LE(slower, 1.05 * ratio) << instruction << ", " << m.name;
    }
  }
}

TEST(HardwareRecord, MatricesFragmentsCopiesAndDriverAgree) {
  const nlohmann::json all = record();
  ASSERT_FALSE(all.is_null()) << "no record tests/layout/hardware/records/h200.json";
  for (const char* section : {"matrices", "fragments", "copies", "driver"}) {
    EXPECT_FALSE(all.at(section).empty()) << section;
    for (const auto& entry : all.at(section)) {
      ASSERT_FALSE(entry.contains("error")) << entry.dump();
      // Every matrix case agreed when it was recorded, those with a base offset too.
      if (entry.at("graded").get<bool>() || std::string(section) == "matrices") {
        EXPECT_EQ(entry.at("wrong").get<int>(), 0) << entry.dump();
      }
    }
  }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The last swizzle that a name mentions.
SwizzleMode mode_in(const std::string& name) {
  SwizzleMode mode = SwizzleMode::none;
  std::size_t last = 0;
  const std::pair<const char*, SwizzleMode> modes[] = {{" none", SwizzleMode::none},
                                                       {" 32B", SwizzleMode::b32},
                                                       {" 64B", SwizzleMode::b64},
                                                       {" 128B", SwizzleMode::b128}};
  for (const auto& [word, value] : modes)
    if (const std::size_t at = name.rfind(word); at != std::string::npos && at >= last) {
      last = at;
      mode = value;
    }
  return mode;
}

// Of "bf16 A K-major 128B, B N-major 32B, tiles 128 bytes past 1024".
TEST(HardwareRecord, DescriptorsAreThoseThatRan) {
  const nlohmann::json all = record();
  ASSERT_FALSE(all.is_null()) << "no record tests/layout/hardware/records/h200.json";
  ASSERT_GE(all.at("matrices").size(), 43u);
  for (const auto& entry : all.at("matrices")) {
    const std::string name = entry.at("case"), descriptors = entry.at("descriptors");
    const int bytes = has(name, "bf16") ? 2 : has(name, "tf32") ? 4 : 1;
    const std::size_t comma = name.find(", B ");
    const std::string of_operand[] = {name.substr(0, comma),
                                      name.substr(comma, name.find(", tiles") - comma)};
    for (int i = 0; i < 2; ++i) {
      SCOPED_TRACE(name + (i == 0 ? ": A" : ": B"));
      const uint64_t bits = std::stoull(descriptors.substr(i == 0 ? 0 : 17, 16), nullptr, 16);
      const Major major = has(of_operand[i], "K-major") ? Major::k : Major::mn;
      const auto tile =
          canonical_tile(major, mode_in(of_operand[i]), bytes, i == 0 ? 64 : 128, entry.at("k"));
      ASSERT_TRUE(tile) << tile.reason().view();
      EXPECT_EQ(std::string(to_text(tile->layout).view()), entry.at(i == 0 ? "a" : "b").get<std::string>());
      const int64_t address = static_cast<int64_t>(bits & 0x3FFF) << 4;
      const auto operand = wgmma_operand(*tile, major, address);
      ASSERT_TRUE(operand) << operand.reason().view();
      EXPECT_EQ(operand->first.bits, bits);
      EXPECT_EQ(operand->first.leading_bytes, entry.at(i == 0 ? "a_lbo" : "b_lbo").get<int64_t>());
      EXPECT_EQ(operand->first.stride_bytes, entry.at(i == 0 ? "a_sbo" : "b_sbo").get<int64_t>());
    }
  }
}

TEST(HardwareRecord, FragmentsAndTensorMapsAreThoseThatRan) {
  const nlohmann::json all = record();
  ASSERT_FALSE(all.is_null()) << "no record tests/layout/hardware/records/h200.json";
  for (const auto& entry : all.at("fragments")) {
    const std::string name = entry.at("case");
    EXPECT_EQ(std::string(to_text(*matrix_fragment(name[1] - '0', has(name, "trans"))).view()),
              entry.at("layout").get<std::string>());
  }
  for (const auto& entry : all.at("copies")) {
    const std::string name = entry.at("case");
    const int bytes = has(name, "8-bit") ? 1 : has(name, "32-bit") ? 4 : 2;
    const bool widest = has(name, "under the 128-byte swizzle") || has(name, "rank 4") || has(name, "rank 5");
    const auto plan = tile_map(*parse_layout(entry.at("global").get<std::string>()),
                               {*parse_layout(entry.at("tile").get<std::string>()),
                                swizzle_of(widest ? SwizzleMode::b128 : mode_in(name)), bytes});
    ASSERT_TRUE(plan) << name << ": " << plan.reason().view();
    const auto size = entry.at("size").get<std::vector<int64_t>>(),
               box = entry.at("box").get<std::vector<int64_t>>();
    EXPECT_EQ(std::vector<int64_t>(plan->map.size, plan->map.size + plan->map.rank), size) << name;
    EXPECT_EQ(std::vector<int64_t>(plan->map.box, plan->map.box + plan->map.rank), box) << name;
  }
}

}  // namespace
}  // namespace warpfold::layout::hardware
