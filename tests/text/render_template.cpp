// Renders chat templates for chat_template_test.py: one JSON object a line on stdin
// {"template", "messages", "add_generation_prompt", "bos_token", "eos_token"}, one on stdout: {"text"} or {"error"}.
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "warpfold/text/chat_template.h"

using nlohmann::json;
using namespace warpfold;

namespace {

Result<std::string> render(const json& request) {
  std::vector<text::ChatMessage> messages;
  for (const json& message : request["messages"])
    messages.push_back({message["role"].get<std::string>(), message["content"].get<std::string>()});
  WF_TRY(const auto chat_template, text::ChatTemplate::parse(request["template"].get<std::string>()));
  WF_TRY(const auto segments,
         chat_template.render(messages, {.add_generation_prompt = request["add_generation_prompt"].get<bool>(),
                                         .bos_token = request["bos_token"].get<std::string>(),
                                         .eos_token = request["eos_token"].get<std::string>()}));
  std::string text;
  for (const text::Segment& segment : segments) text += segment.text;
  return text;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const Result<std::string> text = render(json::parse(line));
    if (text)
      std::cout << json{{"text", *text}} << '\n';
    else
      std::cout << json{{"error", text.error().message}, {"code", static_cast<int>(text.error().code)}} << '\n';
  }
}
