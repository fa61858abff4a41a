// `warpfold doctor`: what this machine has, which models are at hand, and what to do next.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/bandwidth.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/gpu.h"
#include "ops/simd_level.h"
#include "warpfold/core/thread_pool.h"

namespace warpfold::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> find_models(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".gguf") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The default model where it is present.
fs::path preferred(const std::vector<fs::path>& models) {
  const auto it = std::find_if(models.begin(), models.end(), [](const fs::path& p) {
    return p.filename() == "SmolLM2-135M-Instruct.Q4_1.gguf";
  });
  return it == models.end() ? models.front() : *it;
}

double memory_gb() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE)) / 1e9;
}

void print_row(const char* what, const std::string& text) { fmt::print("{:<11}{}\n", what, text); }

}  // namespace

int doctor_main(int argc, char** argv) {
  std::string folder = "models";
  CLI::App app("What this machine has, which models are at hand, and what to do next", "warpfold doctor");
  app.add_option("--models", folder, "where to look for GGUF files")->capture_default_str();
  if (const auto code = parse(app, argc, argv)) return *code;

  const int processors = ThreadPool::available_processors();
  print_row("version", WARPFOLD_VERSION);
  print_row("processors", fmt::format("{} usable", processors));
  print_row("SIMD", ops::simd_name(ops::simd_level()));
  print_row("memory", fmt::format("{:.1f} GB; {} threads read {:.1f} GB/s", memory_gb(), processors,
                                  measure_read_bandwidth()));
  print_row("GPU", fmt::format("{}; models run on the CPU in this version", describe_gpus()));
  const auto models = find_models(folder);
  for (const fs::path& model : models) {
    std::error_code ignored;
    print_row("model", fmt::format("{} ({:.0f} MB)", model.string(),
                                   static_cast<double>(fs::file_size(model, ignored)) / 1e6));
  }
  if (models.empty()) {
    print_row("model", fmt::format("none in {}/", folder));
    print_row("next",
              "make demo fetches the default model; any GGUF file of a supported family works as well");
  } else {
    print_row("next", fmt::format("warpfold run {} -p \"The capital of France is\"", preferred(models).string()));
  }
  return 0;
}

}  // namespace warpfold::cli
