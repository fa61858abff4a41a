// `warpfold bench gemm` (bench_gemm.cpp), `warpfold bench attention` (bench_attention.cpp) and `warpfold bench cpu MODEL`: speed of
// prefill and of decoding, each from an empty cache, medians of several runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include "cli/bandwidth.h"
#include "cli/bench_attention.h"
#include "cli/bench_gemm.h"
#include "cli/commands.h"
#include "cli/common.h"

namespace warpfold::cli {
namespace {

struct BenchOptions {
  ModelOptions model;
  std::int64_t prompt = 512, tokens = 128;
  int repeat = 5;
};

struct Samples {
  std::vector<double> rates;  // tokens/s

  double median() const {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  }
  double min() const { return *std::min_element(rates.begin(), rates.end()); }
  double max() const { return *std::max_element(rates.begin(), rates.end()); }
  Json json(std::int64_t count) const {
    return {{"tokens", count}, {"median", median()}, {"min", min()}, {"max", max()}, {"runs", rates}};
  }
};

struct Report {
  models::DecoderInfo info;
  int threads;
  Samples prefill, decode;
};

template <class Work>
Result<double> timed_rate(std::int64_t tokens, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  WF_CHECK(work());
  return static_cast<double>(tokens) /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<Report> measure(const BenchOptions& options) {
  WF_TRY(const engine::ModelPtr model, load_model(options.model));
  Report report{model->info(), model->pool().size(), {}, {}};
  const std::int64_t longest = std::max(options.prompt, options.tokens);
  if (longest > model->info().context)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} tokens asked for, the model takes at most {}", longest, model->info().context));
  // Any ids do: the work does not depend on them.
  std::mt19937 random(1);
  std::uniform_int_distribution<engine::TokenId> any(0,
                                                     static_cast<engine::TokenId>(model->info().vocab - 1));
  std::vector<engine::TokenId> ids(static_cast<std::size_t>(longest));
  std::generate(ids.begin(), ids.end(), [&] { return any(random); });
  const auto prompt = std::span(ids).first(static_cast<std::size_t>(options.prompt));
  const auto answer = std::span(ids).first(static_cast<std::size_t>(options.tokens));

  WF_TRY(auto session, engine::Session::create(model, {.context = static_cast<std::int64_t>(ids.size()),
                                                       .kv = options.model.kv}));
  const auto prefill = [&] { return session.prefill(prompt); };
  const auto decode = [&]() -> Status {
    for (const engine::TokenId id : answer) WF_CHECK(session.step(id));
    return {};
  };
  for (int run = -1; run < options.repeat; ++run) {  // the first is a warm-up
    session.clear();
    WF_TRY(const double prefill_rate, timed_rate(options.prompt, prefill));
    session.clear();
    WF_TRY(const double decode_rate, timed_rate(options.tokens, decode));
    if (run < 0) continue;
    report.prefill.rates.push_back(prefill_rate);
    report.decode.rates.push_back(decode_rate);
  }
  return report;
}

}  // namespace

int bench_main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "gemm") return bench_gemm_main(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "attention") return bench_attention_main(argc - 1, argv + 1);
  BenchOptions options;
  bool json = false;
  CLI::App app("Speed of a model on this machine", "warpfold bench");
  app.require_subcommand(1);
  app.add_subcommand("gemm", "matrix products on a Hopper GPU; see warpfold bench gemm --help");
  app.add_subcommand("attention", "attention on a Hopper GPU; see warpfold bench attention --help");
  CLI::App& cpu = *app.add_subcommand("cpu", "prefill and decoding on the CPU, each from an empty cache");
  options.model.add_to(cpu);
  cpu.add_option("--prompt", options.prompt, "tokens to prefill")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  cpu.add_option("--tokens", options.tokens, "tokens to decode")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  cpu.add_option("--repeat", options.repeat, "runs, after one to warm up")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  cpu.add_flag("--json", json, "print one object");
  if (const auto code = parse(app, argc, argv)) return *code;

  const auto report = measure(options);
  if (!report) return report_error(report.error());
  const double memory = measure_read_bandwidth();
  const double weights = report->decode.median() * static_cast<double>(report->info.weight_bytes) / 1e9;
  if (json) {
    fmt::print("{}\n", to_line({{"model", report->info.name},
                                {"architecture", report->info.architecture},
                                {"weight_bytes", report->info.weight_bytes},
                                {"threads", report->threads},
                                {"kv", options.model.kv == models::KvType::kInt8 ? "int8" : "f16"},
                                {"prefill_tokens_per_second", report->prefill.json(options.prompt)},
                                {"decode_tokens_per_second", report->decode.json(options.tokens)},
                                {"weights_gb_per_second", weights},
                                {"memory_gb_per_second", memory}}));
    return 0;
  }
  const auto print = [](const char* what, std::int64_t tokens, const Samples& samples) {
    fmt::print("{:<8}{:>6} tokens {:>10.1f} tok/s   ({:.1f} to {:.1f} in {} runs)\n", what, tokens,
               samples.median(), samples.min(), samples.max(), samples.rates.size());
  };
  fmt::print("{} ({}), {:.1f} MB of weights a token, {} threads\n", report->info.name,
             report->info.architecture, static_cast<double>(report->info.weight_bytes) / 1e6,
             report->threads);
  print("prefill", options.prompt, report->prefill);
  print("decode", options.tokens, report->decode);
  fmt::print("decode reads {:.1f} GB/s of weights, {:.0f}% of the memory's {:.1f} GB/s\n", weights,
             100 * weights / memory, memory);
  return 0;
}

}  // namespace warpfold::cli
