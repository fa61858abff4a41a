// The predictions against what a chip answered: records/h200.json is the output of device_check.cu. Skipped,
// by name, where there is no record.
//
// Wavefronts and cycles: the shared-memory pipe takes one wavefront a cycle, and the issue of the
// instructions a little more, so an access of n wavefronts takes  n <= cycles <= 1.1 n. Relative to the
// conflict-free pattern of the same instruction, an access that needs r times its wavefronts takes 0.95 r
// to 1.05 r times its cycles. The patterns that are not graded, in which lanes share words, take no more than
// predicted.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "warpfold/layout/hardware/banks.h"

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
  if (all.is_null()) GTEST_SKIP() << "no record tests/layout/hardware/records/h200.json";
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
  if (all.is_null()) GTEST_SKIP() << "no record tests/layout/hardware/records/h200.json";
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

}  // namespace
}  // namespace warpfold::layout::hardware
