#include "container/cdi_support.h"

#include <charconv>
#include <utility>

#include "agent/cluster_node.h"

namespace divvy::agent {
namespace {

// "1.7.2-ds1" as {1, 7}; {0, 0}: not a version.
std::pair<unsigned, unsigned> versionOf(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::pair<unsigned, unsigned> version{0, 0};
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.first);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return {0, 0};
  const auto minor = std::from_chars(major.ptr + 1, end, version.second);
  return minor.ec == std::errc{} ? version : std::pair<unsigned, unsigned>{0, 0};
}

}  // namespace

const char* injectingName(InjectionMode injecting) {
  switch (injecting) {
    case InjectionMode::kMounts:
      return "mounts";
    case InjectionMode::kCdi:
      return "cdi";
    case InjectionMode::kAuto:
      break;
  }
  return "auto";
}

Result<InjectionMode> parseInjecting(std::string_view text) {
  for (const InjectionMode one :
       {InjectionMode::kAuto, InjectionMode::kMounts, InjectionMode::kCdi})
    if (text == injectingName(one)) return one;
  return Error{ErrorCode::kUsage,
               '"' + std::string(text) + "\" is not known; accepted: auto, mounts, cdi"};
}

std::string whyNoCdi(std::string_view runtime, std::string_view kubelet) {
  using Version = std::pair<unsigned, unsigned>;
  const std::string named(runtime);
  if (versionOf(kubelet) < Version{1, 29})
    return "kubelet " + std::string(kubelet) + " does not pass CDI devices on";
  const std::size_t colon = runtime.find("://");
  const std::string_view kind = runtime.substr(0, colon);
  const Version version =
      colon == std::string_view::npos ? Version{0, 0} : versionOf(runtime.substr(colon + 3));
  if (kind == "containerd" && version >= Version{2, 0}) return "";
  if (kind == "containerd" && version >= Version{1, 7})
    return named + " reads CDI specs only if configured to";
  if (kind == "cri-o" && version >= Version{1, 28}) return "";
  if (kind == "containerd" || kind == "cri-o") return named + " ignores CDI devices";
  return named.empty() ? "the runtime is not known" : "of " + named + " it is not known";
}

}  // namespace divvy::agent
