// Runs every conformance case and prints one JSON object: where it ran, and for each case how many words it gave and
// their hash; with --dump CASE the words themselves. On the chip a fault ends the context, so the cases run in a child process
// that is started again behind the one that failed. Exit status: 0 all ran, 1 some failed, 2 no usable
// device.
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "harness.h"

namespace conformance {
namespace {

std::vector<Case> all_cases() {
  std::vector<Case> list;
  for (const auto& part : {thread_cases(), order_cases(), copy_cases(), product_cases_bf16(), product_cases_f16(),
                           product_cases_tf32(), product_cases_fp8(), product_cases_int8()})
    list.insert(list.end(), part.begin(), part.end());
  return list;
}

uint64_t hash(const Words& words) {  // FNV-1a over words
  uint64_t h = 14695981039346656037u;
  for (const uint32_t w : words) h = (h ^ w) * 1099511628211u;
  return h;
}

// One line for each case from `first` on: index, words, hash, or the failure.
int child(const std::vector<Case>& cases, size_t first) {
  for (size_t i = first; i < cases.size(); ++i) {
    alarm(60);  // a case that hangs ends this process, not the whole run
    try {
      const Words w = cases[i].run();
      std::printf("%zu\t%zu\t%016llx\n", i, w.size(), static_cast<unsigned long long>(hash(w)));
    } catch (const std::string& why) {
      std::printf("%zu\terror\t%s\n", i, why.c_str());
      std::fflush(stdout);
      return 1;
    }
    std::fflush(stdout);
  }
  return 0;
}

int dump(const std::vector<Case>& cases, const std::string& name) {
  for (const Case& c : cases)
    if (c.name == name) {
      size_t i = 0;
      for (const uint32_t w : c.run()) std::printf("%08x%c", w, ++i % 8 == 0 ? '\n' : ' ');
      return 0;
    }
  std::fprintf(stderr, "no case is named %s\n", name.c_str());
  return 1;
}

bool usable_device() {
#ifdef __CUDACC__
  int count = 0, major = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == 9;
#else
  return true;
#endif
}

// Where and when: device, driver, CUDA, date, as the members of a JSON object.
std::string machine() {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
#ifdef __CUDACC__
  cudaDeviceProp device{};
  int runtime = 0;
  cudaGetDeviceProperties(&device, 0);
  cudaRuntimeGetVersion(&runtime);
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ..."
  std::string word, driver = "unknown";
  std::ifstream version("/proc/driver/nvidia/version");
  for (bool found = false; version >> word && !found;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) {
      driver = word;
      found = true;
    }
  return "\"device\": \"" + std::string(device.name) + "\", \"driver\": \"" + driver + "\", \"cuda\": \"" +
         std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10) + "\", \"date\": \"" + date +
         "\"";
#else
  return "\"device\": \"emulator\", \"date\": \"" + std::string(date) + "\"";
#endif
}

int parent(const std::vector<Case>& cases, const char* program) {
  std::vector<std::string> result(cases.size(), "\"error\": \"not run\"");
  size_t next = 0;
  int failures = 0;
  while (next < cases.size()) {
    const std::string command = std::string(program) + " --from " + std::to_string(next);
    FILE* pipe = popen(command.c_str(), "r");
    char line[4096];
    const size_t first = next;
    while (std::fgets(line, sizeof line, pipe) != nullptr) {
      size_t index = 0;
      char a[32], b[4000];
      if (std::sscanf(line, "%zu\t%31[^\t]\t%3999[^\n]", &index, a, b) != 3) continue;
      if (std::strcmp(a, "error") == 0) {
        std::string why = b;
        for (char& c : why)
          if (c == '"' || c == '\\') c = '\'';
        result[index] = "\"error\": \"" + why + "\"";
        ++failures;
      } else {
        result[index] = "\"words\": " + std::string(a) + ", \"hash\": \"" + b + "\"";
      }
      next = index + 1;
    }
    if (pclose(pipe) != 0 && next == first) {
      ++failures;
      result[next++] = "\"error\": \"the process died\"";
    }
  }
  std::printf("{\n \"machine\": {%s},\n \"cases\": {\n", machine().c_str());
  for (size_t i = 0; i < cases.size(); ++i)
    std::printf("  \"%s\": {%s}%s\n", cases[i].name.c_str(), result[i].c_str(),
                i + 1 < cases.size() ? "," : "");
  std::printf(" }\n}\n");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  if (!conformance::usable_device()) {
    std::fprintf(stderr, "no Hopper GPU: conformance is skipped\n");
    return 2;
  }
  const auto cases = conformance::all_cases();
  if (argc == 3 && std::strcmp(argv[1], "--from") == 0)
    return conformance::child(cases, std::strtoull(argv[2], nullptr, 10));
  if (argc == 3 && std::strcmp(argv[1], "--dump") == 0) try {
      return conformance::dump(cases, argv[2]);
    } catch (const std::string& why) {
      std::fprintf(stderr, "%s\n", why.c_str());
      return 1;
    }
  return conformance::parent(cases, argv[0]);
}
