// Chat templates: any bytes are parsed and, where that works, rendered for a fixed conversation. The first
// byte chooses the conversation.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "warpfold/text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warpfold::text;
  if (size == 0) return 0;
  const std::string_view source(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed) return 0;
  std::vector<ChatMessage> messages;
  if (data[0] & 1) messages.push_back({"system", "Be brief."});
  if (data[0] & 2) messages.push_back({"user", " h\xC3\xA9llo <|im_end|>\n"});
  if (data[0] & 4) messages.push_back({"assistant", "\xF0\x9F\xA6 cut"});
  if (data[0] & 8) messages.push_back({"other role", ""});
  const auto segments = parsed->render(
      messages, {.add_generation_prompt = (data[0] & 16) != 0, .bos_token = "<s>", .eos_token = "</s>"});
  if (!segments) return 0;
  // Segments are never empty and their origins alternate.
  for (std::size_t i = 0; i < segments->size(); ++i)
    if ((*segments)[i].text.empty() ||
        (i > 0 && (*segments)[i].from_template == (*segments)[i - 1].from_template))
      std::abort();
  return 0;
}
