// `warpfold bench attention`: TFLOPS of attention on this machine's Hopper GPU, beside PyTorch's kernels in
// one process: bench/kernels/attention.py over libwarpfold.so. --ladder times the steps of
// examples/attention: attention_ladder.py over libwarpfold_attention_ladder.so.
#include "cli/bench_attention.h"

#include <CLI/CLI.hpp>

#include "cli/bench_script.h"
#include "cli/common.h"

namespace warpfold::cli {
namespace {

struct Options {
  std::string head_dims = "64,128,256", masks = "none,causal", seqlens = "512,1024,2048,4096,8192,16384",
              types = "bf16", heads, json, set = "prefill";
  int rounds = 30;
  bool ladder = false;
};

Status run(const Options& o) {
  const auto ladder = find_library("examples/attention", "libwarpfold_attention_ladder.so");
  const auto library = find_library("src/c_api", "libwarpfold.so");
  if (o.ladder && ladder.empty())
    return fail(
        ErrorCode::kUnsupported,
        "bench attention --ladder: libwarpfold_attention_ladder.so is not beside this program; the target "
        "warpfold_attention_ladder builds it where nvcc is found");
  if (!o.ladder && library.empty())
    return fail(
        ErrorCode::kUnsupported,
        "bench attention: libwarpfold.so is not beside this program; the target warpfold_c builds it");
  if (!has_torch())
    return fail(ErrorCode::kUnsupported, "bench attention: needs PyTorch and a GPU, for the peers");
  std::vector<std::string> words = {"--head-dims", o.head_dims, "--rounds", std::to_string(o.rounds)};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--json", o.json);
  if (o.ladder) {
    add("--library", library.string());
    return run_script("attention_ladder.py", ladder, words);
  }
  add("--set", o.set);
  add("--masks", o.masks);
  add("--seqlens", o.seqlens);
  add("--types", o.types);
  add("--heads", o.heads);
  return run_script("attention.py", library, words);
}

}  // namespace

int bench_attention_main(int argc, char** argv) {
  Options o;
  CLI::App app("Speed of attention on a Hopper GPU, beside PyTorch's kernels", "warpfold bench attention");
  app.add_option("--set", o.set, "comma-separated: prefill, gqa, e4m3, window, varlen, rises")->capture_default_str();
  app.add_option("--head-dims", o.head_dims, "comma-separated")->capture_default_str();
  app.add_option("--masks", o.masks, "none, causal")->capture_default_str();
  app.add_option("--seqlens", o.seqlens, "16k tokens in all")->capture_default_str();
  app.add_option("--types", o.types, "bf16, f16")->capture_default_str();
  app.add_option("--heads", o.heads, "query/KV heads, as 64/8; default: 2048 / head dim of both");
  app.add_option("--rounds", o.rounds, "of which the median is taken")
      ->check(CLI::Range(3, 10000))
      ->capture_default_str();
  app.add_option("--json", o.json, "also write the results to this file");
  app.add_flag(
      "--ladder", o.ladder,
      "the steps of examples/attention instead, beside the post's figures; of the options above --head-dims, "
      "--rounds and --json");
  if (const auto code = parse(app, argc, argv)) return *code;
  if (const Status status = run(o); !status) return report_error(status.error());
  return 0;
}

}  // namespace warpfold::cli
