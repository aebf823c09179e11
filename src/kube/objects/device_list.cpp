#include "kube/device_list.h"

namespace divvy::kube {

std::string encodeDevices(const std::set<std::string>& uuids) {
  std::string text;
  for (const std::string& uuid : uuids) text += (text.empty() ? "" : ",") + uuid;
  return text;
}

std::set<std::string> decodeDevices(std::string_view text) {
  std::set<std::string> uuids;
  std::string uuid;
  for (const char c : std::string(text) + ',') {
    if (c == ',') {
      if (!uuid.empty()) uuids.insert(uuid);
      uuid.clear();
    } else if (c != ' ' && c != '\t') {
      uuid += c;
    }
  }
  return uuids;
}

}  // namespace divvy::kube
