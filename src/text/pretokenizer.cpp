// Pre-tokenisers of GPT-2, SmolLM, Llama 3 and Qwen 2 over PCRE2.
#include "text/pretokenizer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text/utf8.h"

namespace warpfold::text {
namespace {

// \s and \S of the published expressions mean Unicode's White_Space. PCRE2's \s also holds U+180E, which lost
// that property in Unicode 6.3; the expressions are therefore written with this class (W: inside of
// brackets).
#define W R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
constexpr const char* kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^)" W R"(\p{L}\p{N}]+|[)" W
                              R"(]+(?![^)" W R"(])|[)" W R"(]+)";

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
// \s+(?!\S)|\s+
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^)" W R"(\p{L}\p{N}]+[\r\n]*|[)" W
    R"(]*[\r\n]+|[)" W R"(]+(?![^)" W R"(])|[)" W R"(]+)";

// As Llama 3's, but every digit is a word: \p{N} in place of \p{N}{1,3}.
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^)" W R"(\p{L}\p{N}]+[\r\n]*|[)" W
    R"(]*[\r\n]+|[)" W R"(]+(?![^)" W R"(])|[)" W R"(]+)";

constexpr const char* kDigit = R"(\p{N})";
#undef W

struct Definition {
  std::string_view name;
  const char* words;
  const char* digits;
  bool ignore_merges;
};

constexpr Definition kDefinitions[] = {
    {"default", kGpt2, nullptr, false}, {"gpt-2", kGpt2, nullptr, false},
    {"smollm", kGpt2, kDigit, false},   {"llama-bpe", kLlama3, nullptr, true},
    {"llama3", kLlama3, nullptr, true}, {"qwen2", kQwen2, nullptr, false},
};

struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct MatchContextDeleter {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

struct Pretokenizer::Expression {
  explicit Expression(const char* pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                         &error, &offset, nullptr);
    // Without machine code (for instance where memory cannot be made executable) the interpreter is used.
    if (code) pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  }
  ~Expression() { pcre2_code_free(code); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  // Calls back for each match and each gap between matches, in order.
  template <class OnMatch, class OnGap>
  Status for_each(std::string_view text, OnMatch&& on_match, OnGap&& on_gap) const {
    std::unique_ptr<pcre2_match_data, MatchDataDeleter> data(pcre2_match_data_create(1, nullptr));
    std::unique_ptr<pcre2_match_context, MatchContextDeleter> context(pcre2_match_context_create(nullptr));
    if (!code || !data || !context)
      return fail(ErrorCode::kInvalidArgument, "out of memory for a regular expression");
    // Each expression needs a few steps a character; a run that needs more than this is a mistake in it.
    const std::uint64_t limit = 10'000'000 + 16 * static_cast<std::uint64_t>(text.size());
    pcre2_set_match_limit(context.get(), static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                             limit, std::numeric_limits<std::uint32_t>::max())));
    std::size_t at = 0;
    while (at < text.size()) {
      // The text was checked once to be valid; PCRE2 would check the rest of it again at each call.
      const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                    PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0)
        return fail(
            ErrorCode::kInvalidArgument,
            fmt::format("pre-tokeniser stopped at byte {} of {}: PCRE2 error {}", at, text.size(), found));
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data.get());
      if (span[0] > at) on_gap(text.substr(at, span[0] - at));
      on_match(text.substr(span[0], span[1] - span[0]));  // never empty: no alternative of any pattern can be
      at = span[1];
    }
    if (at < text.size()) on_gap(text.substr(at));
    return {};
  }

  pcre2_code* code = nullptr;
};

Pretokenizer::Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer&&) noexcept = default;
Pretokenizer& Pretokenizer::operator=(Pretokenizer&&) noexcept = default;
Pretokenizer::~Pretokenizer() = default;

Result<Pretokenizer> Pretokenizer::make(std::string_view name) {
  for (const Definition& definition : kDefinitions) {
    if (definition.name != name) continue;
    Pretokenizer made;
    made.words_ = std::make_unique<Expression>(definition.words);
    if (definition.digits) made.digits_ = std::make_unique<Expression>(definition.digits);
    made.ignore_merges_ = definition.ignore_merges;
    return made;
  }
  return fail(
      ErrorCode::kUnsupported,
      fmt::format(
          "tokenizer.ggml.pre \"{}\" is not supported (default, gpt-2, smollm, llama-bpe and qwen2 are)",
          to_valid_utf8(name)));
}

Result<std::vector<std::string_view>> Pretokenizer::split(std::string_view text) const {
  std::vector<std::string_view> words;
  const auto add = [&](std::string_view word) { words.push_back(word); };
  if (!digits_) {
    WF_CHECK(words_->for_each(text, add, add));
    return words;
  }
  std::vector<std::string_view> parts;  // digits and what lies between them
  WF_CHECK(digits_->for_each(
      text, [&](std::string_view digit) { parts.push_back(digit); },
      [&](std::string_view between) { parts.push_back(between); }));
  for (const std::string_view part : parts) WF_CHECK(words_->for_each(part, add, add));
  return words;
}

}  // namespace warpfold::text
