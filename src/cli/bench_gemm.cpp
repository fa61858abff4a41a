// `warpfold bench gemm`: TFLOPS of the matrix products on this machine's Hopper GPU, beside cuBLAS where
// PyTorch is installed. Peers must run in one process with the kernel that they are compared with, so with
// PyTorch the measurement is bench/kernels/gemm.py, carried inside this program, over libwarpfold.so; without
// it, the same table is measured here. --ladder times the steps of examples/gemm: bench/kernels/ladder.py
// over libwarpfold_ladder.so.
#include "cli/bench_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>

#include "cli/bench_script.h"
#include "cli/common.h"

#if WARPFOLD_CUDA_RUNTIME
#include <cuda_runtime_api.h>

#include <random>

#include "warpfold/core/half.h"
#include "warpfold/kernels/gemm/config.h"
#include "warpfold/kernels/gemm/gemm.h"
#endif

namespace warpfold::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string sizes = "2048,4096,8192,16384", types = "bf16", tiles = "auto", json;
  double seconds = 1;
  bool no_peers = false, ladder = false;
};

// Runs gemm.py or ladder.py with these options.
Status run_with(const char* script, const Options& o, const fs::path& library) {
  std::vector<std::string> words = {"--sizes",   o.sizes,  "--types", o.types,
                                    "--seconds", fmt::format("{}", o.seconds)};
  if (!o.ladder) words.insert(words.end(), {"--tiles", o.tiles});
  if (!o.json.empty()) words.insert(words.end(), {"--json", o.json});
  return run_script(script, library, words);
}

Status run_ladder(const Options& o) {
  const fs::path library = find_library("examples/gemm", "libwarpfold_ladder.so");
  if (library.empty())
    return fail(ErrorCode::kUnsupported,
                "bench gemm --ladder: libwarpfold_ladder.so is not beside this program; the target "
                "warpfold_ladder builds it where nvcc is found");
  if (!has_torch())
    return fail(ErrorCode::kUnsupported,
                "bench gemm --ladder: needs PyTorch and a GPU, to time the steps beside cuBLAS");
  return run_with("ladder.py", o, library);
}

#if WARPFOLD_CUDA_RUNTIME

namespace gemm = kernels::gemm;

Status cuda(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("{}: {}", what, cudaGetErrorString(e)));
}

// Operands on the device, several sets where one would fit into the L2 cache; freed with the process.
struct Sets {
  std::vector<gemm::Problem> problems;
};

Result<Sets> make_sets(DType type, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t l2_bytes = 60 << 20;
  const int64_t bytes = 2 * (m * k + n * k + m * n);
  Sets sets;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto fill = [&](int64_t count) -> Result<void*> {
    std::vector<uint16_t> host(static_cast<size_t>(count));
    for (uint16_t& h : host) {
      const float x = normal(random);
      h = type == DType::kBF16 ? f32_to_bf16(x) : f32_to_f16(x);
    }
    void* device = nullptr;
    WF_CHECK(cuda(cudaMalloc(&device, size_t(count) * 2), "memory for the operands"));
    WF_CHECK(cuda(cudaMemcpy(device, host.data(), size_t(count) * 2, cudaMemcpyHostToDevice), "operands"));
    return device;
  };
  for (int64_t i = 0; i < std::max<int64_t>(1, (2 * l2_bytes + bytes - 1) / bytes); ++i) {
    gemm::Problem p;
    p.type = p.output_type = type;
    p.m = m;
    p.n = n;
    p.k = k;
    WF_TRY(p.a.data, fill(m * k));
    WF_TRY(p.b.data, fill(n * k));
    WF_TRY(p.d, fill(m * n));
    p.a.stride = p.b.stride = k;
    p.d_stride = n;
    sets.problems.push_back(p);
  }
  return sets;
}

// Median milliseconds of a product, after 300 ms of warm-up.
Result<double> time_products(const Sets& sets, std::optional<gemm::TileId> tile, double seconds) {
  const gemm::Problem& first = sets.problems[0];
  const double flops = 2.0 * double(first.m) * double(first.n) * double(first.k);
  const int launches = std::max(int(sets.problems.size()), std::min(200, int(5e-3 * 700e12 / flops) + 1));
  cudaEvent_t begin, end;
  WF_CHECK(cuda(cudaEventCreate(&begin), "event"));
  WF_CHECK(cuda(cudaEventCreate(&end), "event"));
  std::vector<double> times;
  double total = 0, warm = 0;
  while (total < seconds * 1e3 || times.size() < 30) {
    WF_CHECK(cuda(cudaEventRecord(begin), "event"));
    for (int i = 0; i < launches; ++i)
      WF_CHECK(gemm::run(sets.problems[size_t(i) % sets.problems.size()], nullptr, tile));
    WF_CHECK(cuda(cudaEventRecord(end), "event"));
    WF_CHECK(cuda(cudaEventSynchronize(end), "the products"));
    float ms = 0;
    WF_CHECK(cuda(cudaEventElapsedTime(&ms, begin, end), "event"));
    if (warm < 300) {
      warm += double(ms);
    } else {
      times.push_back(double(ms) / launches);
      total += double(ms);
    }
  }
  std::nth_element(times.begin(), times.begin() + long(times.size() / 2), times.end());
  return times[times.size() / 2];
}

Result<std::vector<std::string>> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (size_t i = 0; i <= text.size();) {
    const size_t end = std::min(text.find(at, i), text.size());
    if (end == i) return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' has an empty part", text));
    parts.push_back(text.substr(i, end - i));
    i = end + 1;
  }
  return parts;
}

// Where and when results were measured.
Result<Json> about() {
  cudaDeviceProp device{};
  int id = 0, runtime = 0;
  WF_CHECK(cuda(cudaGetDevice(&id), "device"));
  WF_CHECK(cuda(cudaGetDeviceProperties(&device, id), "device"));
  WF_CHECK(cuda(cudaRuntimeGetVersion(&runtime), "version"));
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ...": the word of digits and dots
  std::string driver;
  std::ifstream version("/proc/driver/nvidia/version");
  while (version >> driver && (driver.find('.') == std::string::npos ||
                               driver.find_first_not_of("0123456789.") != std::string::npos)) {
  }
  char date[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::localtime(&now));
  return Json{{"device", device.name},
              {"driver", version ? driver : ""},
              {"cuda", fmt::format("{}.{}", runtime / 1000, runtime % 1000 / 10)},
              {"date", date},
              {"data", "random normal"}};
}

Status measure(const Options& o) {
  // WGMMA alone on random data, measured on one H200.
  constexpr double bf16_limit = 870, f16_limit = 834;
  fmt::print("{:>22} {:5} {:18} {:>9} {:>7} {:>6}\n", "M x N x K", "type", "tile", "us", "TFLOPS", "limit");
  Json results = Json::array();
  WF_TRY(const auto types, split(o.types, ','));
  WF_TRY(const auto sizes, split(o.sizes, ','));
  for (const std::string& type : types) {
    if (type != "bf16" && type != "f16")
      return fail(ErrorCode::kInvalidArgument, fmt::format("--types: bf16 or f16, not {}", type));
    for (const std::string& size : sizes) {
      WF_TRY(auto parts, split(size, 'x'));
      if (parts.size() == 1) parts = {parts[0], parts[0], parts[0]};
      if (parts.size() != 3)
        return fail(ErrorCode::kInvalidArgument, fmt::format("--sizes: m or mxnxk, not {}", size));
      int64_t mnk[3];
      for (int i = 0; i < 3; ++i)
        if (std::sscanf(parts[size_t(i)].c_str(), "%ld", &mnk[i]) != 1 || mnk[i] < 8 || mnk[i] > 131072 ||
            mnk[i] % 8 != 0)
          return fail(ErrorCode::kInvalidArgument,
                      fmt::format("--sizes: multiples of 8 up to 131072, not {}", size));
      WF_TRY(const Sets sets, make_sets(type == "bf16" ? DType::kBF16 : DType::kF16, mnk[0], mnk[1], mnk[2]));
      std::vector<std::optional<gemm::TileId>> tiles = {std::nullopt};
      if (o.tiles != "auto") {
        if (o.tiles != "all") tiles.clear();
        for (const gemm::TileId id : gemm::all_tiles)
          if (o.tiles == "all" ||
              ("," + o.tiles + ",")
                      .find("," + gemm::with_tile(id, [](auto t) { return std::string(t.name); }) + ",") !=
                  std::string::npos)
            tiles.push_back(id);
        if (tiles.empty())
          return fail(ErrorCode::kInvalidArgument, fmt::format("--tiles: no tile is called {}", o.tiles));
      }
      for (const auto& tile : tiles) {
        WF_TRY(const double ms, time_products(sets, tile, o.seconds));
        const double tflops = 2e-9 * double(mnk[0]) * double(mnk[1]) * double(mnk[2]) / ms;
        const std::string name =
            tile ? gemm::with_tile(*tile, [](auto t) { return std::string(t.name); }) : "auto";
        const double limit = type == "bf16" ? bf16_limit : f16_limit;
        fmt::print("{:>22} {:5} {:18} {:9.1f} {:7.1f} {:5.1f}%\n",
                   fmt::format("{} x {} x {}", mnk[0], mnk[1], mnk[2]), type, name, ms * 1e3, tflops,
                   100 * tflops / limit);
        results.push_back({{"m", mnk[0]},
                           {"n", mnk[1]},
                           {"k", mnk[2]},
                           {"type", type},
                           {"tile", name},
                           {"us", ms * 1e3},
                           {"tflops", tflops},
                           {"limit", tflops / limit}});
      }
      for (const gemm::Problem& p : sets.problems)
        for (const void* q : {p.a.data, p.b.data, static_cast<const void*>(p.d)})
          cudaFree(const_cast<void*>(q));
    }
  }
  if (!o.json.empty()) {
    std::ofstream out(o.json);
    WF_TRY(Json all, about());
    all["results"] = results;
    out << all.dump(1) << "\n";
    if (!out) return fail(ErrorCode::kIo, fmt::format("{}: cannot be written", o.json));
  }
  return {};
}

#else

Status measure(const Options&) { return fail(ErrorCode::kUnsupported, "bench gemm: this build has no CUDA"); }

#endif

}  // namespace

int bench_gemm_main(int argc, char** argv) {
  Options o;
  CLI::App app("Speed of matrix products on a Hopper GPU, beside cuBLAS where PyTorch is installed",
               "warpfold bench gemm");
  const auto* sizes = app.add_option("--sizes", o.sizes, "m or mxnxk, comma-separated; --ladder: 4096")
                          ->capture_default_str();
  const auto* types = app.add_option("--types", o.types,
                                     "bf16, f16; beside PyTorch also int8, int8_bf16; --ladder: tf32,bf16")
                          ->capture_default_str();
  app.add_option("--tiles", o.tiles, "auto, all, or names")->capture_default_str();
  app.add_option("--seconds", o.seconds, "of timed runs for each row")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  app.add_option("--json", o.json, "also write the results to this file");
  app.add_flag("--no-peers", o.no_peers, "do not look for PyTorch");
  app.add_flag("--ladder", o.ladder,
               "the steps of examples/gemm instead, beside cuBLAS and the post's figures");
  if (const auto code = parse(app, argc, argv)) return *code;
  if (o.ladder && sizes->count() == 0) o.sizes = "4096";
  if (o.ladder && types->count() == 0) o.types = "tf32,bf16";
  const fs::path library = find_library("src/c_api", "libwarpfold.so");
  const Status status = o.ladder                                         ? run_ladder(o)
                        : !o.no_peers && !library.empty() && has_torch() ? run_with("gemm.py", o, library)
                                                                         : measure(o);
  if (status) return 0;
  return report_error(status.error());
}

}  // namespace warpfold::cli
