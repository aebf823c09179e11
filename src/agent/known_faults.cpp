#include "known_faults.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/plain_file.h"

namespace divvy::agent {
namespace {

constexpr std::size_t kMostFaults = 1u << 16;
constexpr std::uint64_t kForgottenMs = 30'000;

// Instants of another boot mean nothing.
std::string thisBoot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

KnownFaults loadFaults(const std::string& path) {
  KnownFaults faults;
  const Result<std::string> text = readPlainFile(path, kMostFaults);
  std::istringstream file(text ? *text : std::string());
  std::string line;
  if (!std::getline(file, line) || line != thisBoot()) return faults;
  // A line without its end was cut, and its number with it.
  while (std::getline(file, line) && !file.eof()) {
    std::istringstream words(line);
    std::string uuid;
    KnownFault fault;
    if (words >> uuid >> fault.xid >> fault.since_ms && words.eof() && fault.xid != 0)
      faults[uuid] = fault;
  }
  return faults;
}

void saveFaults(const std::string& path, const KnownFaults& faults) {
  if (faults.empty()) {
    unlink(path.c_str());
    return;
  }
  const std::string temporary = path + ".new";
  std::ofstream file(temporary);
  file << thisBoot() << '\n';
  for (const auto& [uuid, fault] : faults)
    file << uuid << ' ' << fault.xid << ' ' << fault.since_ms << '\n';
  file.close();  // writes what is still buffered
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

bool differ(const KnownFaults& saved, const KnownFaults& now) {
  return !std::equal(saved.begin(), saved.end(), now.begin(), now.end(),
                     [](const auto& before, const auto& after) {
                       return before.first == after.first &&
                              before.second.xid == after.second.xid &&
                              after.second.since_ms - before.second.since_ms < kForgottenMs;
                     });
}

}  // namespace divvy::agent
