#include "kube/full_devices.h"

#include <algorithm>

namespace divvy::kube {

std::string encodeFull(const std::set<std::string>& uuids) {
  std::string text;
  for (const std::string& uuid : uuids) text += (text.empty() ? "" : ",") + uuid;
  return text;
}

std::set<std::string> decodeFull(std::string_view text) {
  std::set<std::string> uuids;
  while (!text.empty()) {
    const std::string_view uuid = text.substr(0, text.find(','));
    text.remove_prefix(std::min(uuid.size() + 1, text.size()));
    if (!uuid.empty()) uuids.emplace(uuid);
  }
  return uuids;
}

}  // namespace divvy::kube
