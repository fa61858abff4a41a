#include "warpfold/core/memory_map.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace warpfold {
namespace {

TEST(MemoryMap, MapsAndReleasesWithoutLosingBytes) {
  const auto path = std::filesystem::temp_directory_path() / "warpfold_memory_map_test";
  { std::ofstream(path, std::ios::binary) << std::string(100000, 'x') << "end"; }
  auto map = MemoryMap::open(path.string());
  ASSERT_TRUE(map);
  ASSERT_EQ(map->bytes().size(), 100003u);
  map->release(map->bytes().subspan(10, 90000));
  EXPECT_EQ(static_cast<char>(map->bytes()[5000]), 'x');
  EXPECT_EQ(static_cast<char>(map->bytes()[100002]), 'd');
  std::filesystem::remove(path);
}

TEST(MemoryMap, ErrorsNameThePath) {
  auto missing = MemoryMap::open("/no/such/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  EXPECT_NE(missing.error().message.find("/no/such/file"), std::string::npos);
  EXPECT_FALSE(MemoryMap::open("/"));
}

}  // namespace
}  // namespace warpfold
