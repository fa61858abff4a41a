#include "warpfold/engine/transcriber.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/json_file.h"
#include "engine/pool.h"
#include "engine/timestamps.h"

namespace warpfold::engine {
namespace {

// Whisper's languages in the order of their tokens are named by codes of two or three letters: "<|en|>",
// "<|haw|>".
bool is_language(std::string_view token) {
  if (token.size() < 6 || token.size() > 7 || !token.starts_with("<|") || !token.ends_with("|>"))
    return false;
  return std::all_of(token.begin() + 2, token.end() - 2, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

Transcriber::Transcriber(models::Seq2Seq model, text::ByteVocabulary vocabulary, ops::LogMel log_mel,
                         std::unique_ptr<ThreadPool> pool)
    : pool_(std::move(pool)),
      model_(std::move(model)),
      vocabulary_(std::move(vocabulary)),
      log_mel_(std::move(log_mel)),
      batch_(model_.make_batch()),
      features_(static_cast<std::size_t>(2 * model_.info().source_context * model_.info().mels)),
      logits_(static_cast<std::size_t>(model_.info().vocab)) {}

Result<Transcriber> Transcriber::load(const std::string& path, const LoadOptions& options) {
  WF_TRY(auto pool, make_pool(options.threads));
  WF_TRY(auto model, models::Seq2Seq::load(path, *pool, options.progress));
  if (model.info().mels == 0)
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: a {} model reads text; it does not hear", path, model.info().architecture));
  WF_TRY(auto vocabulary, text::ByteVocabulary::open(path + "/tokenizer.json"));
  WF_TRY(auto log_mel, ops::LogMel::create(model.info().mels, *pool));
  Transcriber out(std::move(model), std::move(vocabulary), std::move(log_mel), std::move(pool));
  WF_CHECK(out.read_control(path));
  return out;
}

Status Transcriber::read_control(const std::string& path) {
  const auto find = [&](std::string_view token, TokenId& id) -> Status {
    id = vocabulary_.control(token);
    if (id != text::kNoToken && id < info().vocab) return {};
    return fail(ErrorCode::kBadFile, fmt::format("{}/tokenizer.json: there is no token {}", path, token));
  };
  WF_CHECK(find("<|startoftranscript|>", control_.start));
  WF_CHECK(find("<|endoftext|>", control_.end));
  WF_CHECK(find("<|transcribe|>", control_.transcribe));
  WF_CHECK(find("<|translate|>", control_.translate));
  WF_CHECK(find("<|notimestamps|>", control_.no_timestamps));
  if (control_.no_timestamps + 1 >= info().vocab || control_.end >= control_.no_timestamps)
    return fail(ErrorCode::kBadFile, path + ": the vocabulary has no timestamps after <|notimestamps|>");
  for (const auto& [token, id] : vocabulary_.controls())
    if (is_language(token)) control_.languages.emplace_back(token.substr(2, token.size() - 4), id);
  std::sort(control_.languages.begin(), control_.languages.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });

  const std::string file = path + "/generation_config.json";
  WF_TRY(const auto json, read_json_file(file));
  const auto read = [&](const char* key, std::vector<TokenId>& out) -> Status {
    if (!json.is_object() || !json.contains(key) || json[key].is_null()) return {};
    const auto bad = [&] {
      return fail(ErrorCode::kBadFile, fmt::format("{}: {} is no list of tokens", file, key));
    };
    if (!json[key].is_array()) return bad();
    for (const auto& id : json[key]) {
      if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() >= info().vocab)
        return bad();
      out.push_back(id.get<TokenId>());
    }
    return {};
  };
  WF_CHECK(read("suppress_tokens", suppressed_));
  return read("begin_suppress_tokens", suppressed_first_);
}

Status Transcriber::listen(std::span<const float> samples) {
  WF_CHECK(log_mel_.run(samples, 2 * info().source_context, features_, *pool_));
  return model_.encode_features(features_, *batch_, *pool_);
}

// The likeliest language token after the start. The next window has to be encoded anew.
Result<std::string> Transcriber::detect_language() {
  const TokenId start = control_.start;
  WF_CHECK(model_.decode({&start, 1}, *batch_, logits_, 1, *pool_));
  const auto best = std::max_element(
      control_.languages.begin(), control_.languages.end(), [&](const auto& a, const auto& b) {
        return logits_[static_cast<std::size_t>(a.second)] < logits_[static_cast<std::size_t>(b.second)];
      });
  return best == control_.languages.end() ? std::string() : best->first;
}

// What follows the prompt, without the end token.
Result<std::vector<TokenId>> Transcriber::write(std::span<const TokenId> prompt, bool timestamps) {
  const TimestampTokens rules{.begin = control_.no_timestamps + 1, .end = control_.end};
  std::vector<TokenId> out;
  std::vector<TokenId> next(prompt.begin(), prompt.end());
  while (static_cast<std::int64_t>(prompt.size() + out.size()) < info().context) {
    WF_CHECK(model_.decode(next, *batch_, logits_, 1, *pool_));
    constexpr float kForbidden = -std::numeric_limits<float>::infinity();
    for (const TokenId id : suppressed_) logits_[static_cast<std::size_t>(id)] = kForbidden;
    if (out.empty())
      for (const TokenId id : suppressed_first_) logits_[static_cast<std::size_t>(id)] = kForbidden;
    if (timestamps) {
      logits_[static_cast<std::size_t>(control_.no_timestamps)] = kForbidden;
      apply_timestamp_rules(rules, out, logits_);
    }
    const auto token =
        static_cast<TokenId>(std::max_element(logits_.begin(), logits_.end()) - logits_.begin());
    if (token == control_.end) break;
    out.push_back(token);
    next.assign(1, token);
  }
  return out;
}

Result<Transcript> Transcriber::transcribe(std::span<const float> samples, const TranscribeOptions& options) {
  if (samples.empty()) return fail(ErrorCode::kInvalidArgument, "there are no samples to transcribe");
  Transcript transcript;
  transcript.language = options.language;
  const std::int64_t window = 2 * info().source_context * ops::LogMel::kHop;
  const auto total = static_cast<std::int64_t>(samples.size());
  const auto seconds = [](std::int64_t n) { return static_cast<double>(n) / static_cast<double>(kRate); };
  for (std::int64_t at = 0; at < total;) {
    const std::int64_t length = std::min(window, total - at);
    const auto part = samples.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length));
    WF_CHECK(listen(part));
    std::vector<TokenId> prompt{control_.start};
    if (!control_.languages.empty()) {  // models for English alone have none
      if (transcript.language.empty()) {
        WF_TRY(transcript.language, detect_language());
        WF_CHECK(model_.restart(*batch_));
      }
      const auto language = std::find_if(control_.languages.begin(), control_.languages.end(),
                                         [&](const auto& l) { return l.first == transcript.language; });
      if (language == control_.languages.end())
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("the model does not know the language \"{}\"", transcript.language));
      prompt.insert(prompt.end(),
                    {language->second, options.translate ? control_.translate : control_.transcribe});
    }
    if (!options.timestamps) prompt.push_back(control_.no_timestamps);
    WF_TRY(const std::vector<TokenId> tokens, write(prompt, options.timestamps));
    transcript.tokens.insert(transcript.tokens.end(), tokens.begin(), tokens.end());
    std::int64_t next = length;
    if (options.timestamps) {
      const Segments segments =
          split_segments({.begin = control_.no_timestamps + 1, .end = control_.end}, tokens, seconds(length));
      for (const Segment& s : segments.list)
        transcript.segments.push_back(
            {seconds(at) + s.start, seconds(at) + s.end, vocabulary_.decode(s.tokens)});
      // Only a full window may end within a segment.
      if (length == window) next = std::clamp<std::int64_t>(std::llround(segments.next * kRate), 1, length);
    } else {
      transcript.segments.push_back({seconds(at), seconds(at + length), vocabulary_.decode(tokens)});
    }
    at += next;
    if (options.progress) options.progress(seconds(at), seconds(total));
  }
  for (const Transcript::Segment& s : transcript.segments) transcript.text += s.text;
  if (transcript.text.starts_with(' ')) transcript.text.erase(0, 1);
  return transcript;
}

}  // namespace warpfold::engine
