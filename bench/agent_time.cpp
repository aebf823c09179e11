#include "agent_time.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace divvy::bench {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool isAgent(const fs::path& process, const std::string& runtime) {
  const std::string words = contents(process / "cmdline");
  if (words.find(std::string("\0agent\0", 7)) == std::string::npos) return false;
  const std::string variables = '\0' + contents(process / "environ");
  const std::string wanted = '\0' + ("DIVVY_RUNTIME_DIR=" + runtime) + '\0';
  return variables.find(wanted) != std::string::npos;
}

}  // namespace

int agentPid(const fs::path& runtime) {
  std::error_code gone;
  for (const auto& process : fs::directory_iterator("/proc", gone)) {
    const std::string name = process.path().filename();
    if (std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); }) &&
        isAgent(process.path(), runtime.string())) {
      return std::atoi(name.c_str());
    }
  }
  return 0;
}

std::map<std::string, double> threadTimesOf(int pid) {
  std::map<std::string, double> times;
  std::error_code gone;
  const fs::path tasks = fs::path("/proc") / std::to_string(pid) / "task";
  for (const auto& task : fs::directory_iterator(tasks, gone)) {
    std::string thread;
    double nanos = 0;
    std::getline(std::ifstream(task.path() / "comm"), thread);
    std::ifstream(task.path() / "schedstat") >> nanos;
    times[thread] += nanos / 1e6;
  }
  return times;
}

}  // namespace divvy::bench
