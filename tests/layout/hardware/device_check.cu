// Does the chip do what the layouts predict? Prints one JSON object to standard output:
//   banks      cycles per shared-memory access beside the predicted wavefronts
//   matrices   WGMMA on known data through the library's tiles, descriptors and fragments: wrong elements
//   fragments  ldmatrix and stmatrix against their thread-value layouts: wrong values
//   copies     TMA loads through derived tensor maps against the predicted shared-memory image: wrong bytes
//   driver     the driver's verdict on tensor maps beside the library's
// "graded": false marks an observation that no prediction is claimed for. Exit status: 0 all graded checks
// agree, 1 some do not, 2 there is no usable device. The cycles of `banks` are judged by record_test.cpp, not
// here.
//
// A faulting instruction ends a CUDA context, so every case runs in a child process of its own.
//
// Build: nvcc -std=c++20 -O3 --expt-relaxed-constexpr -gencode=arch=compute_90a,code=sm_90a -Iinclude
//             tests/layout/hardware/device_check.cu -o device_check
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>

#include "device/bank_cases.h"
#include "device/copy_cases.h"
#include "device/matrix_cases.h"

namespace {

using namespace device_check;

// The cases, numbered: 0 device, 1 banks, 2 fragments, 3 driver, then the matrices, then the copies.
struct Item {
  std::string section, name;
};
std::vector<Item> items() {
  std::vector<Item> list = {
      {"device", "device"}, {"banks", "banks"}, {"fragments", "fragments"}, {"driver", "driver"}};
  for (const MatrixCase& c : matrix_cases()) list.push_back({"matrices", c.name});
  for (const CopyCase& c : copy_cases()) list.push_back({"copies", c.name});
  return list;
}

void describe_device() {
  cudaDeviceProp p{};
  CUDA(cudaGetDeviceProperties(&p, 0));
  int driver = 0, runtime = 0, clock = 0;
  CUDA(cudaDriverGetVersion(&driver));
  CUDA(cudaRuntimeGetVersion(&runtime));
  CUDA(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
  emit("device", Json()
                     .field("name", std::string(p.name))
                     .field("compute_capability", p.major * 10 + p.minor)
                     .field("multiprocessors", p.multiProcessorCount)
                     .field("clock_khz", clock)
                     .field("driver", driver)
                     .field("runtime", runtime)
                     .field("nvcc", __CUDACC_VER_MAJOR__ * 10 + __CUDACC_VER_MINOR__));
}

void run_item(int index) {
  if (index == 0) return describe_device();
  if (index == 1) return run_bank_cases();
  if (index == 2) return run_fragments();
  if (index == 3) return run_driver_cases();
  const auto matrices = matrix_cases();
  index -= 4;
  if (index < static_cast<int>(matrices.size()))
    return run_matrix_case(matrices[static_cast<std::size_t>(index)]);
  run_copy_case(copy_cases().at(static_cast<std::size_t>(index) - matrices.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--item") == 0) {
    try {
      run_item(std::atoi(argv[2]));
      return 0;
    } catch (const std::exception& e) {
      std::printf("error\t%s\n", e.what());
      return 1;
    }
  }

  std::map<std::string, std::string> sections;
  std::string device = "null";
  int failed = 0;
  char path[4096] = {};
  const std::string self = readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : argv[0];
  const std::vector<Item> list = items();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Item& item = list[i];
    FILE* child = popen(("timeout 120 '" + self + "' --item " + std::to_string(i) + " 2>&1").c_str(), "r");
    std::string error;
    if (child == nullptr) {
      error = "could not start the case";
    } else {
      std::vector<char> line(1 << 16);
      while (std::fgets(line.data(), static_cast<int>(line.size()), child) != nullptr) {
        std::string s(line.data());
        while (!s.empty() && s.back() == '\n') s.pop_back();
        const std::size_t tab = s.find('\t');
        const std::string section = tab == std::string::npos ? "" : s.substr(0, tab);
        if (section == "device") {
          device = s.substr(tab + 1);
        } else if (section == "banks" || section == "matrices" || section == "fragments" ||
                   section == "copies" || section == "driver") {
          const std::string object = s.substr(tab + 1);
          std::string& all = sections[section];
          all += (all.empty() ? "    " : ",\n    ") + object;
          const bool graded = object.find("\"graded\":true") != std::string::npos;
          const bool wrong = object.find("\"wrong\":") != std::string::npos &&
                             object.find("\"wrong\":0") == std::string::npos;
          const bool stuck = object.find("\"finished\":false") != std::string::npos;
          failed += graded && (wrong || stuck) ? 1 : 0;
        } else {
          error += (error.empty() ? "" : " | ") + (section == "error" ? s.substr(tab + 1) : s);
        }
      }
      const int status = pclose(child);
      if (status != 0 && error.empty()) error = "the case ended with status " + std::to_string(status);
    }
    if (!error.empty()) {
      if (item.section == "device") {
        std::printf("{\"device\": null, \"error\": %s}\n", Json::quoted(error).c_str());
        return 2;
      }
      std::string& all = sections[item.section];
      all += (all.empty() ? "    " : ",\n    ") + Json().field("case", item.name).field("error", error).str();
      ++failed;
    }
  }
  std::printf("{\n  \"device\": %s,\n  \"failed\": %d", device.c_str(), failed);
  for (const char* name : {"matrices", "fragments", "copies", "driver", "banks"})
    std::printf(",\n  \"%s\": [\n%s\n  ]", name, sections[name].c_str());
  std::printf("\n}\n");
  return failed == 0 ? 0 : 1;
}
