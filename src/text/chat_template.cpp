// Chat templates: puts messages into the template's variables, runs it, and cuts the result where its origin
// changes.
#include "warpfold/text/chat_template.h"

#include <algorithm>

#include "text/jinja_eval.h"
#include "text/jinja_parser.h"
#include "text/utf8.h"

namespace warpfold::text {

struct ChatTemplate::Node {
  jinja::Body body;
};

namespace {

using jinja::Text;
using jinja::Value;

// Bounds of one render: enough for some ten thousand messages in the templates of the supported models.
constexpr std::int64_t kMaxSteps = 4'000'000;
constexpr std::int64_t kMaxBytes = 64ll << 20;
constexpr std::int64_t kBytesPerInputByte = 64;  // copies of the messages that a template may make

// Templates build control tokens around the names of roles ("<|" + role + "|>"): these names count as the
// template's own text. Any other role is what a caller was given, and is marked as content.
char role_origin(std::string_view role) {
  constexpr std::string_view kRoles[] = {"system", "user", "assistant", "tool"};
  return std::find(std::begin(kRoles), std::end(kRoles), role) != std::end(kRoles) ? Text::kTemplate
                                                                                   : Text::kContent;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  WF_TRY(jinja::Body body, jinja::parse_template(source));
  return ChatTemplate(std::make_unique<Node>(Node{std::move(body)}));
}

Result<std::vector<Segment>> ChatTemplate::render(std::span<const ChatMessage> messages,
                                                  const RenderOptions& options) const {
  std::int64_t input_bytes = 0;
  for (const ChatMessage& message : messages)
    input_bytes += static_cast<std::int64_t>(message.role.size() + message.content.size());
  jinja::Work work(kMaxSteps, kMaxBytes + kBytesPerInputByte * input_bytes);

  std::vector<Value> list;
  for (const ChatMessage& message : messages) {
    WF_TRY(Value value,
           jinja::make_dict(
               work, {{Text("role"), Value::of(Text(to_valid_utf8(message.role), role_origin(message.role)))},
                      {Text("content"), Value::of(Text(to_valid_utf8(message.content), Text::kContent))}}));
    list.push_back(std::move(value));
  }
  WF_TRY(Value message_list, jinja::make_list(work, std::move(list)));
  std::vector<std::pair<std::string, Value>> globals{
      {"messages", std::move(message_list)},
      {"add_generation_prompt", Value::of(options.add_generation_prompt)},
      {"bos_token", Value::of(to_valid_utf8(options.bos_token))},
      {"eos_token", Value::of(to_valid_utf8(options.eos_token))}};
  WF_TRY(const Text text, jinja::evaluate(root_->body, std::move(globals), work));

  std::vector<Segment> segments;
  for (std::size_t begin = 0; begin < text.bytes.size();) {
    const std::size_t end =
        std::min(text.origins.find_first_not_of(text.origins[begin], begin), text.bytes.size());
    segments.push_back({text.bytes.substr(begin, end - begin), text.origins[begin] == Text::kTemplate});
    begin = end;
  }
  return segments;
}

Result<std::vector<TokenId>> encode_segments(const Tokenizer& tokenizer, std::span<const Segment> segments) {
  std::vector<TextPart> parts;
  for (const Segment& segment : segments) parts.push_back({segment.text, segment.from_template});
  WF_TRY(std::vector<TokenId> ids, tokenizer.encode(parts, EncodeOptions{}));
  // A template may write BOS more than once at its beginning: one is kept.
  const auto first_other = std::find_if(ids.begin(), ids.end(), [&](TokenId id) { return id != tokenizer.bos(); });
  if (first_other - ids.begin() > 1) ids.erase(ids.begin() + 1, first_other);
  return ids;
}

ChatTemplate::ChatTemplate(std::unique_ptr<Node> root) : root_(std::move(root)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

}  // namespace warpfold::text
