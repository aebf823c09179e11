#include "pod_cgroup.h"

#include <algorithm>

#include "base/plain_file.h"
#include "base/processes.h"

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

// Kubernetes' UIDs are RFC 4122's. The API knows static pods by others than their groups.
bool isUid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (kForm[i] == '-' ? text[i] != '-' : !digit) return false;
  }
  return true;
}

// A process may end while it is read: streams throw then.
std::string groupOf(int pid) {
  constexpr std::size_t kMost = 64u << 10;
  const Result<std::string> text = readPlainFile(procPath(pid, "cgroup"), kMost);
  return text ? *text : std::string();
}

}  // namespace

bool groupIsOfPod(std::string_view text, const std::string& uid) {
  if (uid.empty()) return false;
  std::string slice = "pod" + uid;
  if (hasPart(text, slice, "")) return true;
  std::replace(slice.begin(), slice.end(), '-', '_');
  return hasPart(text, slice, ".slice");
}

std::string podOfGroup(std::string_view text) {
  constexpr std::string_view kPod = "pod";
  constexpr std::size_t kUid = 36;  // 8-4-4-4-12 hexadecimal digits
  for (std::size_t at = text.find(kPod); at != std::string_view::npos;
       at = text.find(kPod, at + 1)) {
    std::string uid(text.substr(at + kPod.size(), kUid));
    std::replace(uid.begin(), uid.end(), '_', '-');
    if (isUid(uid) && groupIsOfPod(text, uid)) return uid;
  }
  return "";
}

std::string podOf(int pid) {
  return podOfGroup(groupOf(pid));
}

bool processIsOfPod(int pid, const std::string& uid) {
  return groupIsOfPod(groupOf(pid), uid);
}

}  // namespace divvy::agent
