#include "pod_cgroup.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace divvy::agent {
namespace {

// A part of a path, whole: one pod's UID must not be found in the end of another's.
bool hasPart(std::string_view text, const std::string& name, std::string_view ending) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const char before = at == 0 ? '/' : text[at - 1];
    std::string_view rest = text.substr(at + name.size());
    if (rest.starts_with(ending))
      rest.remove_prefix(ending.size());
    else if (!ending.empty())
      continue;
    if ((before == '/' || before == '-') && (rest.empty() || rest[0] == '/' || rest[0] == '\n'))
      return true;
  }
  return false;
}

}  // namespace

bool groupIsOfPod(std::string_view text, const std::string& uid) {
  if (uid.empty()) return false;
  std::string slice = "pod" + uid;
  if (hasPart(text, slice, "")) return true;
  std::replace(slice.begin(), slice.end(), '-', '_');
  return hasPart(text, slice, ".slice");
}

bool processIsOfPod(int pid, const std::string& uid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return groupIsOfPod(text, uid);
}

}  // namespace divvy::agent
