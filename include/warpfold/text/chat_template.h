// Chat templates: the subset of Jinja that the templates of the supported models use.
// Rendering keeps apart what the template wrote and what a person wrote, so that the tokenizer can recognise
// control tokens in the first only.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpfold/core/error.h"
#include "warpfold/text/tokenizer.h"

namespace warpfold::text {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

struct Segment {
  std::string text;
  bool from_template;  // false: comes from a message's content
};

struct RenderOptions {
  bool add_generation_prompt = true;
  std::string bos_token;  // text of the tokens the template may name
  std::string eos_token;
};

class ChatTemplate {
 public:
  // Errors: kBadFile with the line for broken syntax; kUnsupported with the construct's name and line.
  static Result<ChatTemplate> parse(std::string_view source);
  // Errors: what the template raises (raise_exception), undefined names, work limits.
  Result<std::vector<Segment>> render(std::span<const ChatMessage> messages, const RenderOptions& options) const;

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();
  struct Node;

 private:
  explicit ChatTemplate(std::unique_ptr<Node> root);
  std::unique_ptr<Node> root_;
};

// Encodes rendered segments: special tokens are recognised in template text only; exactly one BOS.
Result<std::vector<TokenId>> encode_segments(const Tokenizer& tokenizer, std::span<const Segment> segments);

}  // namespace warpfold::text
