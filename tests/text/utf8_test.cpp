// Ill-formed UTF-8: one U+FFFD for each maximal ill-formed part, however the bytes are cut into pushes.
#include "text/utf8.h"

#include <random>

#include <gtest/gtest.h>

#include "warpfold/text/tokenizer.h"

namespace warpfold::text {
namespace {

#define FFFD "\xEF\xBF\xBD"

TEST(Utf8, MaximalIllFormedParts) {
  const std::pair<const char*, const char*> cases[] = {
      {"\xC0\x80", FFFD FFFD},                    // overlong
      {"\xE0\x80\x80", FFFD FFFD FFFD},           // overlong
      {"\xED\xA0\x80", FFFD FFFD FFFD},           // surrogate
      {"\xF4\x90\x80\x80", FFFD FFFD FFFD FFFD},  // above U+10FFFF
      {"\xF5\x80", FFFD FFFD},                    // never a lead byte
      {"\xE2\x82"
       "a",
       FFFD "a"},  // cut short
      {"\xF0\x9F\xA6"
       "a",
       FFFD "a"},              // cut short
      {"\xF0\x9F\xA6", FFFD},  // cut at the end
      {"\x80"
       "a",
       FFFD "a"},  // stray continuation
      {"\xC3\xC3\xA9", FFFD "\xC3\xA9"},
      {"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64",  // the example of the Unicode standard
       "a" FFFD FFFD FFFD "b" FFFD "c" FFFD FFFD "d"},
      {"\xF4\x8F\xBF\xBF\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF\xEF\xBF\xBF"},
  };
  for (const auto& [bytes, expected] : cases) EXPECT_EQ(to_valid_utf8(bytes), expected);
}

TEST(Utf8Stream, HoldsBackWhatMayStillBecomeACharacter) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0"), "a");
  EXPECT_EQ(stream.push("\x9F\xA6"), "");
  EXPECT_EQ(stream.push("\x99"
                        "b"),
            "🦙b");
  EXPECT_EQ(stream.push("\xE2"), "");
  EXPECT_EQ(stream.push("a"), FFFD "a");
  EXPECT_EQ(stream.push("\xF0\x9F"), "");
  EXPECT_EQ(stream.finish(), FFFD);
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, AnyCutGivesTheSameText) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (std::size_t i = 0; i < random() % 12; ++i) {
      constexpr unsigned char kBytes[] = {'a',  0x80, 0xBF, 0xC2, 0xE0, 0xE2,
                                          0xED, 0xF0, 0xF4, 0x9F, 0xA0, 0xFF};
      bytes += static_cast<char>(kBytes[random() % std::size(kBytes)]);
    }
    Utf8Stream stream;
    std::string pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random() % 3;
      pieces += stream.push(std::string_view(bytes).substr(at, size));
      at += size;
    }
    pieces += stream.finish();
    EXPECT_EQ(pieces, to_valid_utf8(bytes));
    EXPECT_EQ(to_valid_utf8(pieces), pieces);
  }
}

}  // namespace
}  // namespace warpfold::text
