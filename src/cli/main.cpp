// `warpfold COMMAND ...`: finds the command; all else is its business.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/commands.h"
#include "cli/inspect.h"
#include "cli/layout/layout.h"

namespace warpfold::cli {
namespace {

struct Command {
  std::string_view name, summary;
  int (*main)(int argc, char** argv);
};

constexpr std::array kCommands{
    Command{"run", "complete a prompt", run_main},
    Command{"chat", "talk with a model, line by line", chat_main},
    Command{"embed", "turn texts into vectors and compare them", embed_main},
    Command{"translate", "turn texts into texts with an encoder-decoder", translate_main},
    Command{"transcribe", "turn speech into text", transcribe_main},
    Command{"explain", "show a text's way through a model as a page", explain_main},
    Command{"inspect", "show what is in a model file", inspect_main},
    Command{"tokenize", "show the token ids of a text", tokenize_main},
    Command{"perplexity", "measure how well a model predicts a text", perplexity_main},
    Command{"bench", "measure speed", bench_main},
    Command{"layout", "compute, explain, check and draw layouts", layout_main},
    Command{"doctor", "show what this machine has and what to do next", doctor_main},
};

void print_usage(std::FILE* out) {
  fmt::print(out, "usage: warpfold COMMAND [OPTIONS]\n\n");
  for (const Command& command : kCommands) fmt::print(out, "  {:<12}{}\n", command.name, command.summary);
  fmt::print(out, "\nwarpfold COMMAND --help explains a command.\n");
}

int dispatch(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  const std::string_view name = argv[1];
  if (name == "--help" || name == "-h" || name == "help") {
    print_usage(stdout);
    return 0;
  }
  if (name == "--version") {
    fmt::print("warpfold {}\n", WARPFOLD_VERSION);
    return 0;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) return command.main(argc - 1, argv + 1);
  }
  fmt::print(stderr, "error: there is no command '{}'\n\n", name);
  print_usage(stderr);
  return 2;
}

}  // namespace
}  // namespace warpfold::cli

// A command whose output was lost has failed, whatever it thinks; and no exception ends the process by itself.
int main(int argc, char** argv) {
  try {
    const int code = warpfold::cli::dispatch(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fputs("error: the output could not be written\n", stderr);
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
  }
  return 1;
}
