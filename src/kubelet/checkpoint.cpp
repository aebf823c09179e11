#include "kubelet/checkpoint.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <boost/json.hpp>

#include "base/plain_file.h"
#include "checkpoint_checksum.h"
#include "json/path.h"

namespace divvy::kubelet {
namespace {

namespace json = boost::json;

// 110 pods with all devices of a large node are a few megabytes. The size is bounded, because the
// agent's loop reads and parses the file.
constexpr std::size_t kMaxBytes = 16 << 20;

Error corrupt(const std::string& what) {
  return {ErrorCode::kCorrupt, what};
}

bool read(const json::value& from, const char* name, std::string* to) {
  const json::value* member = memberAt(from, {name});
  if (member == nullptr || !member->is_string()) return false;
  *to = std::string(member->get_string());
  return !to->empty();
}

bool addIds(const json::value& list, std::vector<std::string>* ids) {
  if (list.is_null()) return true;
  if (!list.is_array()) return false;
  for (const json::value& one : list.get_array()) {
    if (!one.is_string()) return false;
    ids->emplace_back(one.get_string());
  }
  return true;
}

// By NUMA node, or (before 1.20) all in one list.
bool readIds(const json::value& entry, std::vector<std::string>* ids) {
  const json::value* member = memberAt(entry, {"DeviceIDs"});
  if (member == nullptr) return false;
  if (!member->is_object()) return addIds(*member, ids);
  for (const auto& [numa, list] : member->get_object())
    if (!addIds(list, ids)) return false;
  return true;
}

// A file that can be decoded may still be damaged.
std::string doubtOf(const json::value& document, const json::value& data) {
  const std::optional<std::uint32_t> sum = checksumOf(data);
  if (!sum) return "";
  const json::value* member = memberAt(document, {"Checksum"});
  boost::system::error_code fault;
  const auto stated = member == nullptr ? 0 : member->to_number<std::uint64_t>(fault);
  if (member == nullptr || fault) return "has no Checksum";
  if (stated == *sum) return "";
  return "has checksum " + std::to_string(stated) + " of data whose checksum is " +
         std::to_string(*sum);
}

}  // namespace

Result<std::vector<CheckpointEntry>> checkpointOf(std::string_view text, std::string* doubt) {
  boost::system::error_code fault;
  const json::value document = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return corrupt("not JSON: " + fault.message());
  const json::value* data = memberAt(document, {"Data"});
  const json::value* entries = memberAt(data, {"PodDeviceEntries"});
  if (entries == nullptr) return corrupt("has no Data.PodDeviceEntries");
  if (doubt != nullptr) *doubt = doubtOf(document, *data);
  std::vector<CheckpointEntry> noted;
  if (entries->is_null()) return noted;
  if (!entries->is_array()) return corrupt("Data.PodDeviceEntries is not a list");
  for (const json::value& entry : entries->get_array()) {
    CheckpointEntry one;
    if (!read(entry, "PodUID", &one.uid) || !read(entry, "ContainerName", &one.container) ||
        !read(entry, "ResourceName", &one.resource) || !readIds(entry, &one.ids))
      return corrupt("entry " + std::to_string(noted.size()) +
                     " of Data.PodDeviceEntries lacks PodUID, ContainerName, ResourceName or "
                     "DeviceIDs");
    std::sort(one.ids.begin(), one.ids.end());
    noted.push_back(std::move(one));
  }
  return noted;
}

Result<std::vector<CheckpointEntry>> readCheckpoint(KubeletDirs& sockets, std::string* doubt) {
  const std::string path = sockets.pathOf(kCheckpointName);
  const Result<Fd> file = sockets.checkpoint();
  if (!file) return Error(file.error()).context("the kubelet's checkpoint");
  Result<std::string> text = readPlainFile(*file, path, kMaxBytes);
  if (!text) return std::move(text).error().context("the kubelet's checkpoint");
  Result<std::vector<CheckpointEntry>> noted = checkpointOf(*text, doubt);
  if (!noted) return std::move(noted).error().context("the kubelet's checkpoint " + path);
  if (doubt != nullptr && !doubt->empty())
    doubt->insert(0, "the kubelet's checkpoint " + path + " ");
  return noted;
}

std::vector<CheckpointEntry> notedWith(const std::vector<CheckpointEntry>& noted,
                                       const std::string& resource,
                                       const std::vector<std::string>& ids) {
  std::vector<std::string> wanted = ids;
  std::sort(wanted.begin(), wanted.end());
  std::vector<CheckpointEntry> found;
  std::copy_if(noted.begin(), noted.end(), std::back_inserter(found),
               [&](const auto& one) { return one.resource == resource && one.ids == wanted; });
  return found;
}

}  // namespace divvy::kubelet
