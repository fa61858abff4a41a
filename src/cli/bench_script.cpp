#include "cli/bench_script.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bench_scripts.h"

namespace warpfold::cli {

namespace fs = std::filesystem;

fs::path find_library(const char* folder, const char* name) {
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {folder, ".", "../lib"})
    if (fs::exists(here / place / name, ignored)) return here / place / name;
  return {};
}

bool has_torch() {
  return std::system(
             "python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' >/dev/null 2>&1") == 0;
}

Status run_script(const char* script, const fs::path& library, const std::vector<std::string>& words) {
  std::string folder = (fs::temp_directory_path() / "warpfold-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return fail(ErrorCode::kIo, "cannot make a folder under the temporary one");
  for (const auto& [name, text] : scripts::all) std::ofstream(fs::path(folder) / name) << text;
  std::vector<std::string> command = {"python3", (fs::path(folder) / script).string(), library.string()};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& w : command) argv.push_back(w.data());
  argv.push_back(nullptr);
  int status = -1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  if (child > 0) ::waitpid(child, &status, 0);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (child < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    return fail(ErrorCode::kIo, "cannot start python3");
  if (status != 0) return fail(ErrorCode::kIo, fmt::format("{} did not end well", script));
  return {};
}

}  // namespace warpfold::cli
