// `warpfold chat MODEL`: a conversation, one message a line on stdin, the answers on stdout.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace warpfold::cli {
namespace {

constexpr std::int64_t kDefaultContext = 4096;

struct ChatOptions {
  ModelOptions model;
  SamplerOptions sampler;
  std::string system;
  std::int64_t max_tokens = 512, context = 0;
};

class Conversation {
 public:
  Conversation(const engine::Model& model, engine::Session& session, const ChatOptions& options,
               const engine::SamplingOptions& sampling)
      : model_(model), session_(session), max_tokens_(options.max_tokens), sampling_(sampling) {
    if (!options.system.empty()) messages_.push_back({"system", options.system});
  }

  // Streams the answer to one message. After an error the conversation is as before the message.
  Status answer(std::string message) {
    messages_.push_back({"user", std::move(message)});
    auto result = generate();
    if (!result) {
      messages_.pop_back();
      return tl::unexpected(result.error());
    }
    messages_.push_back({"assistant", std::move(result->text)});
    add(result->timings);
    return {};
  }

  const engine::Timings& timings() const { return timings_; }

 private:
  // The conversation as tokens. When it outgrows the context its oldest exchanges are forgotten, never the system
  // message nor the newest message.
  Result<std::vector<engine::TokenId>> prompt_that_fits() {
    const std::size_t kept = !messages_.empty() && messages_.front().role == "system" ? 1 : 0;
    std::size_t forgotten = 0;
    while (true) {
      WF_TRY(auto prompt, model_.encode_chat(messages_));
      if (static_cast<std::int64_t>(prompt.size()) < session_.context() || messages_.size() < kept + 3) {
        if (forgotten > 0) fmt::print(stderr, "[the context is full: {} old messages forgotten]\n", forgotten);
        return prompt;
      }
      const auto oldest = messages_.begin() + static_cast<std::ptrdiff_t>(kept);
      messages_.erase(oldest, oldest + 2);
      forgotten += 2;
    }
  }

  Result<engine::Generation> generate() {
    WF_TRY(const auto prompt, prompt_that_fits());
    Progress bar("reading", {"tokens", 1});
    const InterruptScope interrupt;  // Ctrl-C ends the answer, not the conversation
    ++sampling_.seed;                // another draw for each answer
    return session_.generate(prompt, {.sampling = sampling_,
                                      .max_tokens = max_tokens_,
                                      .on_token =
                                          [](engine::TokenId, std::string_view text) {
                                            std::fwrite(text.data(), 1, text.size(), stdout);
                                            std::fflush(stdout);
                                          },
                                      .on_prefill = [&](auto done, auto total) { bar.update(done, total); },
                                      .cancel = interrupt.flag()});
  }

  void add(const engine::Timings& t) {
    timings_.prefill_seconds += t.prefill_seconds;
    timings_.prefill_tokens += t.prefill_tokens;
    timings_.reused_tokens += t.reused_tokens;
    timings_.decode_seconds += t.decode_seconds;
    timings_.decode_steps += t.decode_steps;
  }

  const engine::Model& model_;
  engine::Session& session_;
  std::int64_t max_tokens_;
  engine::SamplingOptions sampling_;
  std::vector<text::ChatMessage> messages_;
  engine::Timings timings_;
};

Result<Speed> converse(const ChatOptions& options, const engine::SamplingOptions& sampling, bool& any_error) {
  WF_TRY(const engine::ModelPtr model, load_model(options.model));
  WF_CHECK(model->chat_template());
  const std::int64_t context =
      options.context ? options.context : std::min(kDefaultContext, model->info().context);
  WF_TRY(auto session, engine::Session::create(model, {.context = context, .kv = options.model.kv}));
  Conversation conversation(*model, session, options, sampling);

  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  if (terminal) fmt::print(stderr, "One message a line. Ctrl-C ends an answer, Ctrl-D the conversation.\n");
  std::string line;
  while (true) {
    if (terminal) fmt::print(stderr, "> ");
    if (!std::getline(std::cin, line)) break;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (const Status status = conversation.answer(line)) {
      fmt::print("\n");
      std::fflush(stdout);
    } else {
      report_error(status.error());
      any_error = true;
    }
  }
  return Speed{model->load_seconds(), conversation.timings(), model->info().weight_bytes};
}

}  // namespace

int chat_main(int argc, char** argv) {
  ChatOptions options;
  options.sampler.values.temperature = 0.7;
  options.sampler.values.top_p = 0.95;
  CLI::App app(
      "A conversation in the model's chat format: one message a line on stdin, the answers on stdout.",
      "warpfold chat");
  options.model.add_to(app);
  app.add_option("--system", options.system, "the system message");
  app.add_option("--max-tokens", options.max_tokens, "at most so many tokens an answer")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--context", options.context,
                 fmt::format("room for the whole conversation, in tokens (default: the model's, at most {})",
                             kDefaultContext))
      ->check(CLI::PositiveNumber);
  options.sampler.add_to(app);
  if (const auto code = parse(app, argc, argv)) return *code;
  const auto sampling = options.sampler.resolve();
  if (!sampling) return report_wrong_usage(sampling.error().message);

  bool any_error = false;
  auto speed = converse(options, *sampling, any_error);
  if (!speed) return report_error(speed.error());
  speed->measure_memory();
  fmt::print(stderr, "[{}]\n", speed->text());
  return any_error ? 1 : 0;
}

}  // namespace warpfold::cli
