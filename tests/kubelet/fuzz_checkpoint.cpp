// Any bytes as the kubelet's checkpoint. What is read of it is what a simple reader finds there,
// and its checksum is that of a second implementation, which prints the data first.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "checkpoint_checksum.h"
#include "fuzz_input.h"
#include "kubelet/checkpoint.h"

using namespace divvy;
using namespace divvy::kubelet;
namespace json = boost::json;

namespace {

using Text = std::optional<std::string>;  // none: not the form of Kubernetes 1.30 to 1.34

Text printed(const json::value* value);

Text printedList(const json::array& list) {
  std::string text;
  for (const json::value& item : list) {
    const Text one = printed(&item);
    if (!one) return std::nullopt;
    text += (text.empty() && &item == &list.front() ? "" : " ") + *one;
  }
  return '[' + text + ']';
}

// Texts and lists of texts.
Text printed(const json::value* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_null()) return "<nil>";
  if (value->is_string()) return std::string(value->get_string());
  return value->is_array() ? printedList(value->get_array()) : std::nullopt;
}

Text listOf(const json::value* value) {
  if (value == nullptr || (!value->is_null() && !value->is_array())) return std::nullopt;
  if (value->is_array())
    for (const json::value& item : value->get_array())
      if (!item.is_string()) return std::nullopt;
  return printed(value);
}

template <typename Key>
Text mapOf(const json::value* value, std::optional<Key> (*key_of)(const std::string&),
           std::string (*text_of)(const Key&)) {
  if (value == nullptr || (!value->is_null() && !value->is_object())) return std::nullopt;
  if (value->is_null()) return "<nil>";
  std::multimap<Key, std::string> entries;
  for (const auto& [name, list] : value->get_object()) {
    const std::optional<Key> key = key_of(std::string(name));
    const Text text = listOf(&list);
    if (!key || !text) return std::nullopt;
    entries.emplace(*key, *text);
  }
  std::string text;
  for (const auto& [key, list] : entries)
    text += (text.empty() ? "" : " ") + text_of(key) + ':' + list;
  return "map[" + text + ']';
}

std::optional<long> numaOf(const std::string& name) {
  long node = 0;
  const char* const end = name.data() + name.size();
  const auto [last, fault] = std::from_chars(name.data(), end, node);
  return fault == std::errc() && last == end ? std::optional(node) : std::nullopt;
}

Text bytesOf(const json::value* value) {
  if (value == nullptr || (!value->is_null() && !value->is_string())) return std::nullopt;
  if (value->is_null()) return "<nil>";
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string letters(value->get_string());
  if (letters.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && letters.ends_with('='); ++i) letters.pop_back();
  std::string bits;
  for (const char letter : letters) {
    const std::size_t sextet = kLetters.find(letter);
    if (sextet == std::string_view::npos) return std::nullopt;
    for (int bit = 5; bit >= 0; --bit) bits += (sextet >> bit & 1) != 0 ? '1' : '0';
  }
  std::string text;
  for (std::size_t at = 0; at + 8 <= bits.size(); at += 8)
    text += (at == 0 ? "" : " ") + std::to_string(std::stoi(bits.substr(at, 8), nullptr, 2));
  return '[' + text + ']';
}

Text entryOf(const json::value& value) {
  const json::object* entry = value.if_object();
  if (entry == nullptr || entry->size() != 5) return std::nullopt;
  std::string text = "{";
  for (const char* name : {"PodUID", "ContainerName", "ResourceName"}) {
    const json::value* member = entry->if_contains(name);
    if (member == nullptr || !member->is_string()) return std::nullopt;
    text += std::string(name) + ":(string)" + std::string(member->get_string()) + ' ';
  }
  const Text ids = mapOf<long>(entry->if_contains("DeviceIDs"), numaOf,
                               [](const long& node) { return std::to_string(node); });
  const Text response = bytesOf(entry->if_contains("AllocResp"));
  if (!ids || !response) return std::nullopt;
  return text + "DeviceIDs:(checkpoint.DevicesPerNUMA)" + *ids + " AllocResp:([]uint8)" +
         *response + '}';
}

Text dataOf(const json::value& value) {
  const json::object* data = value.if_object();
  if (data == nullptr || data->size() != 2) return std::nullopt;
  const json::value* entries = data->if_contains("PodDeviceEntries");
  if (entries == nullptr || (!entries->is_null() && !entries->is_array())) return std::nullopt;
  std::string text = entries->is_null() ? "<nil>" : "[";
  if (entries->is_array()) {
    for (const json::value& entry : entries->get_array()) {
      const Text one = entryOf(entry);
      if (!one) return std::nullopt;
      text += (text == "[" ? "" : " ") + *one;
    }
    text += ']';
  }
  const Text registered = mapOf<std::string>(
      data->if_contains("RegisteredDevices"),
      [](const std::string& name) { return std::optional(name); },
      [](const std::string& name) { return name; });
  if (!registered) return std::nullopt;
  return "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)" + text +
         " RegisteredDevices:(map[string][]string)" + *registered + '}';
}

std::uint32_t fnv(const std::string& text) {
  std::uint32_t sum = 2166136261;
  for (const unsigned char c : text) sum = (sum ^ c) * 16777619;
  return sum;
}

void checkSum(const json::value& whole) {
  const json::value& data = whole.at("Data");
  const std::optional<std::uint32_t> sum = checksumOf(data);
  const Text text = dataOf(data);
  need(sum.has_value() == text.has_value(), "which data has a checksum");
  if (!sum) return;
  need(*sum == fnv(*text), "the checksum");
  for (const std::uint32_t off : {0u, 1u}) {
    json::value other = whole;
    other.get_object()["Checksum"] = *sum + off;
    std::string doubt;
    if (!checkpointOf(json::serialize(other), &doubt)) return;
    need(doubt.empty() == (off == 0), "doubt by the checksum");
  }
}

void checkNotes(const json::value& entries, const std::vector<CheckpointEntry>& noted) {
  const std::size_t count = entries.is_array() ? entries.get_array().size() : 0;
  need(noted.size() == count, "number of entries");
  for (std::size_t i = 0; i < count; ++i) {
    const json::object& entry = entries.get_array()[i].get_object();
    need(std::string_view(entry.at("PodUID").get_string()) == noted[i].uid, "a pod's UID");
    need(!noted[i].uid.empty() && !noted[i].container.empty() && !noted[i].resource.empty(),
         "an empty name");
    need(std::is_sorted(noted[i].ids.begin(), noted[i].ids.end()), "order of device IDs");
  }
  // Each entry is found by its devices, in whichever order they are asked for.
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 8); ++i) {
    std::vector<std::string> ids(noted[i].ids.rbegin(), noted[i].ids.rend());
    const std::vector<CheckpointEntry> found = notedWith(noted, noted[i].resource, ids);
    need(std::find(found.begin(), found.end(), noted[i]) != found.end(), "an entry by its devices");
    need(notedWith(noted, noted[i].resource + '-', ids).empty() ||
             std::any_of(noted.begin(), noted.end(),
                         [&](const auto& one) { return one.resource == noted[i].resource + '-'; }),
         "an entry of another resource");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = textOf(data, size);
  std::string doubt;
  const Result<std::vector<CheckpointEntry>> noted = checkpointOf(text, &doubt);
  if (!noted) {
    need(noted.error().code() == ErrorCode::kCorrupt && !noted.error().message().empty(),
         "an error without a reason");
    return 0;
  }
  const json::value whole = json::parse(json::string_view(text.data(), text.size()));
  checkNotes(whole.at("Data").at("PodDeviceEntries"), *noted);
  checkSum(whole);
  return 0;
}
