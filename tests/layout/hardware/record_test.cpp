// The predictions against what a chip answered: records/h200.json is the output of device_check.cu. Skipped,
// by name, where there is no record.
//
// Wavefronts and cycles: the shared-memory pipe takes one wavefront a cycle, so that an access of n
// wavefronts takes n cycles, give or take the issue of the instruction:  0.95 n - 0.1 <= cycles <= 1.1 n +
// 0.6. And relative to the conflict-free pattern of the same instruction: an access that needs r times its
// wavefronts takes between 0.8 r and 1.2 r times its cycles.
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
    if (!entry.at("graded").get<bool>()) continue;
    const auto offsets = entry.at("offsets").get<std::vector<int64_t>>();
    const auto r = bank_conflicts(access_of(entry.at("access")),
                                  [&](int lane) { return offsets[static_cast<std::size_t>(lane)]; });
    ASSERT_TRUE(r);
    EXPECT_EQ(r->total, entry.at("predicted_wavefronts").get<int>()) << entry.at("pattern");
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
      EXPECT_GE(m.cycles, 0.95 * m.wavefronts - 0.1) << instruction << ", " << m.name;
      EXPECT_LE(m.cycles, 1.1 * m.wavefronts + 0.6) << instruction << ", " << m.name;
      const double ratio = m.wavefronts / free->wavefronts, slower = m.cycles / free->cycles;
      EXPECT_GE(slower, 0.8 * ratio) << instruction << ", " << m.name;
      EXPECT_LE(slower, 1.2 * ratio) << instruction << ", " << m.name;
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
      if (entry.at("graded").get<bool>()) {
        EXPECT_EQ(entry.at("wrong").get<int>(), 0) << entry.dump();
      }
    }
  }
}

}  // namespace
}  // namespace warpfold::layout::hardware
