#include "os/managed_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;

bool isOwn(const std::string& name, bool folder, const std::vector<ManagedFile>& own) {
  std::string_view stem = name;
  for (const std::string_view half : {".new", ".lost"})
    if (stem.ends_with(half)) stem.remove_suffix(half.size());
  return std::any_of(own.begin(), own.end(), [&](const ManagedFile& one) {
    return one.folder == folder && (one.name == stem || one.name == name);
  });
}

}  // namespace

std::vector<ManagedFile> tenantFiles() {
  return {{"control"}, {"report"},      {"work"},       {"residency"},
          {"swap"},    {"tenant.json"}, {"notice.json"}};
}

std::vector<ManagedFile> nodeFiles() {
  return {{"agent.lock"},      {"agent.sock"},  {"register.sock"}, {"ld.so.preload"},
          {"agent.log"},       {"agent.1.log"}, {"context-costs"}, {"watched"},
          {"timeslice-trial"}, {"reg", true},   {"card", true},    {"faults"}};
}

std::vector<std::string> removeManaged(const std::string& dir,
                                       const std::vector<ManagedFile>& own) {
  std::error_code fault;
  std::vector<std::string> left;
  std::vector<fs::path> ours;
  for (fs::directory_iterator entry(dir, fault); !fault && entry != fs::directory_iterator();
       entry.increment(fault)) {
    std::error_code unknown;
    const fs::file_status status = entry->symlink_status(unknown);
    const std::string name = entry->path().filename().string();
    const bool folder = fs::is_directory(status);
    if (isOwn(name, folder, own)) {
      ours.push_back(entry->path());
    } else {
      left.push_back(name);
    }
  }
  for (const fs::path& one : ours) {
    fs::remove_all(one, fault);
    if (fault) left.push_back(one.filename().string());
  }
  std::sort(left.begin(), left.end());
  if (left.empty() && rmdir(dir.c_str()) != 0 && access(dir.c_str(), F_OK) == 0)
    left.push_back(".");
  return left;
}

}  // namespace divvy::agent
