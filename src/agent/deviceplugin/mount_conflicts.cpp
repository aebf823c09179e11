#include "deviceplugin/mount_conflicts.h"

#include <filesystem>
#include <string_view>

#include "json/path.h"

namespace divvy::agent {
namespace {

namespace json = boost::json;

constexpr const char* kOurs[] = {"/run/divvy", "/etc/ld.so.preload"};

// As the kernel would find it; in images /var/run is /run.
std::string plain(std::string_view path) {
  std::string text = ("/" / std::filesystem::path(path).relative_path()).lexically_normal();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  constexpr std::string_view kVar = "/var/run/";
  if (text.starts_with(kVar)) text.erase(0, kVar.size() - sizeof("/run/") + 1);
  return text;
}

bool isOurs(const std::string& path) {
  for (const std::string ours : kOurs)
    if (path == ours || path.starts_with(ours + '/')) return true;
  return false;
}

Result<void> checkList(const json::value& container, const std::string& called,
                       std::string_view list, std::string_view member) {
  const json::value* mounts = memberAt(container, {list});
  if (mounts == nullptr || !mounts->is_array()) return {};
  for (const json::value& one : mounts->get_array()) {
    const json::value* path = memberAt(one, {member});
    if (path == nullptr || !path->is_string()) continue;
    const json::string& text = path->get_string();
    if (!isOurs(plain({text.data(), text.size()}))) continue;
    return Error{ErrorCode::kCorrupt, "container " + called + " has a volume at " +
                                          std::string(text.data(), text.size()) +
                                          ", where its share is mounted; any path but /run/divvy "
                                          "and /etc/ld.so.preload is accepted"};
  }
  return {};
}

}  // namespace

Result<void> ourMountsStay(const json::value& pod, const std::string& container) {
  const json::value* spec = memberAt(pod, {"spec"});
  if (spec == nullptr) return {};
  for (const char* list : {"initContainers", "containers"}) {
    const json::value* all = memberAt(*spec, {list});
    if (all == nullptr || !all->is_array()) continue;
    for (const json::value& one : all->get_array()) {
      const json::value* name = memberAt(one, {"name"});
      if (name == nullptr || !name->is_string() || name->get_string() != container.c_str())
        continue;
      Result<void> good = checkList(one, container, "volumeMounts", "mountPath");
      if (good) good = checkList(one, container, "volumeDevices", "devicePath");
      if (!good) return good;
    }
  }
  return {};
}

}  // namespace divvy::agent
