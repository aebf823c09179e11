#include "os/pod_cgroup.h"

#include <algorithm>
#include <array>

#include "base/plain_file.h"
#include "base/processes.h"

namespace divvy::agent {
namespace {

bool isHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// UIDs of the API have RFC 4122's form; for static pods the kubelet makes 32 digits.
bool isUid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  constexpr std::size_t kStatic = 32;
  if (text.size() == kStatic) return std::all_of(text.begin(), text.end(), isHex);
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == '-' ? text[i] != '-' : !isHex(text[i])) return false;
  return true;
}

// Reads one component of a cgroup path; empty: not a pod's. Names of slices begin with those of the
// slices above, which may be any.
std::string uidIn(std::string_view part) {
  constexpr std::string_view kPod = "pod", kSlicedPod = "-pod", kSlice = ".slice";
  if (part.starts_with(kPod) && isUid(part.substr(kPod.size())))
    return std::string(part.substr(kPod.size()));
  if (!part.ends_with(kSlice)) return "";
  part.remove_suffix(kSlice.size());
  const std::size_t at = part.rfind(kSlicedPod);
  if (at == std::string_view::npos) return "";
  std::string uid(part.substr(at + kSlicedPod.size()));
  std::replace(uid.begin(), uid.end(), '_', '-');
  return isUid(uid) ? uid : "";
}

// Paths of lines NUMBER:CONTROLLERS:PATH, in order of trust: memory of version 1, which the kubelet
// creates for every pod; version 2; systemd's. A process may be in cgroups of other controllers
// that it created itself.
std::array<std::string_view, 3> believedPaths(std::string_view text) {
  std::array<std::string_view, 3> paths;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (("," + std::string(controllers) + ",").find(",memory,") != std::string::npos)
      paths[0] = path;
    if (controllers.empty()) paths[1] = path;
    if (controllers == "name=systemd") paths[2] = path;
  }
  return paths;
}

// Streams throw if the process ends while it is read.
std::string groupOf(int pid) {
  constexpr std::size_t kMax = 64u << 10;
  const Result<std::string> text = readPlainFile(procPath(pid, "cgroup"), kMax);
  return text ? *text : std::string();
}

}  // namespace

namespace {

// The first component of a pod decides, because a process may create cgroups of any name below its
// own. `also`: a UID that is accepted in any form.
std::string firstPodIn(std::string_view path, const std::string& also) {
  std::string sliced = also;
  std::replace(sliced.begin(), sliced.end(), '-', '_');
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (std::string uid = uidIn(part); !uid.empty()) return uid;
    if (!also.empty() && (part == "pod" + also || part.ends_with("-pod" + sliced + ".slice")))
      return also;
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return "";
}

std::string podIn(std::string_view text, const std::string& also) {
  for (const std::string_view path : believedPaths(text))
    if (std::string uid = firstPodIn(path, also); !uid.empty()) return uid;
  return "";
}

}  // namespace

std::string podOfGroup(std::string_view text) {
  return podIn(text, "");
}

bool groupIsOfPod(std::string_view text, const std::string& uid) {
  return !uid.empty() && podIn(text, uid) == uid;
}

std::string podOf(int pid) {
  return podOfGroup(groupOf(pid));
}

bool processIsOfPod(int pid, const std::string& uid) {
  return groupIsOfPod(groupOf(pid), uid);
}

}  // namespace divvy::agent
