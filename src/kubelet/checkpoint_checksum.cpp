#include "checkpoint_checksum.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base64.h"

namespace divvy::kubelet {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kBasis = 2166136261;
constexpr std::uint32_t kPrime = 16777619;

std::string_view viewOf(const json::string& text) {
  return {text.data(), text.size()};
}

// Adds to the sum while it prints, because the text of a large node has megabytes.
class Printer {
 public:
  bool print(const json::value& data) {
    put("(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)");
    const json::object* members = membersOf(data, 2);
    if (members == nullptr) return false;
    if (!list(*members, "PodDeviceEntries", [this](const json::value& one) { return entry(one); }))
      return false;
    put(" RegisteredDevices:(map[string][]string)");
    return stringMap(*members);
  }
  std::uint32_t sum() const { return sum_; }

 private:
  void put(std::string_view text) {
    for (const char c : text) sum_ = (sum_ ^ static_cast<unsigned char>(c)) * kPrime;
  }

  static const json::object* membersOf(const json::value& value, std::size_t count) {
    const json::object* members = value.if_object();
    return members != nullptr && members->size() == count ? members : nullptr;
  }

  // Go distinguishes absent from empty, as JSON does.
  bool nothing(const json::value& value) {
    if (value.is_null()) put("<nil>");
    return value.is_null();
  }

  template <typename Each>
  bool items(const json::value& value, Each each) {
    if (nothing(value)) return true;
    const json::array* all = value.if_array();
    if (all == nullptr) return false;
    put("[");
    for (std::size_t at = 0; at < all->size(); ++at) {
      if (at > 0) put(" ");
      if (!each((*all)[at])) return false;
    }
    put("]");
    return true;
  }

  template <typename Each>
  bool list(const json::object& members, const char* name, Each each) {
    const json::value* value = members.if_contains(name);
    return value != nullptr && items(*value, each);
  }

  bool strings(const json::value& value) {
    return items(value, [this](const json::value& one) { return text(&one); });
  }

  bool text(const json::value* value) {
    if (value == nullptr || !value->is_string()) return false;
    put(viewOf(value->get_string()));
    return true;
  }

  // Sorted by key. `keyOf` returns the key; none: it cannot be sorted.
  template <typename Key, typename KeyOf>
  bool sorted(const json::value* value, KeyOf keyOf) {
    if (value == nullptr) return false;
    if (nothing(*value)) return true;
    const json::object* all = value->if_object();
    if (all == nullptr) return false;
    std::vector<std::pair<Key, const json::value*>> entries;
    for (const auto& [name, lists] : *all) {
      const std::optional<Key> key = keyOf(std::string_view(name.data(), name.size()));
      if (!key) return false;
      entries.emplace_back(*key, &lists);
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    put("map[");
    for (std::size_t at = 0; at < entries.size(); ++at) {
      if (at > 0) put(" ");
      putKey(entries[at].first);
      put(":");
      if (!strings(*entries[at].second)) return false;
    }
    put("]");
    return true;
  }

  void putKey(std::string_view key) { put(key); }
  void putKey(std::int64_t key) { put(std::to_string(key)); }

  bool stringMap(const json::object& members) {
    const bool good = sorted<std::string_view>(
        members.if_contains("RegisteredDevices"),
        [](std::string_view name) { return std::optional<std::string_view>(name); });
    put("}");
    return good;
  }

  bool numaMap(const json::value* value) {
    return sorted<std::int64_t>(value, [](std::string_view name) -> std::optional<std::int64_t> {
      std::int64_t node = 0;
      const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), node);
      if (fault != std::errc{} || end != name.data() + name.size()) return std::nullopt;
      return node;
    });
  }

  bool entry(const json::value& value) {
    const json::object* members = membersOf(value, 5);
    if (members == nullptr) return false;
    put("{PodUID:(string)");
    if (!text(members->if_contains("PodUID"))) return false;
    put(" ContainerName:(string)");
    if (!text(members->if_contains("ContainerName"))) return false;
    put(" ResourceName:(string)");
    if (!text(members->if_contains("ResourceName"))) return false;
    put(" DeviceIDs:(checkpoint.DevicesPerNUMA)");
    if (!numaMap(members->if_contains("DeviceIDs"))) return false;
    put(" AllocResp:([]uint8)");
    if (!bytes(members->if_contains("AllocResp"))) return false;
    put("}");
    return true;
  }

  // From base64, as numbers: "[10 255]".
  bool bytes(const json::value* value) {
    if (value == nullptr) return false;
    if (nothing(*value)) return true;
    if (!value->is_string()) return false;
    const std::optional<std::string> bytes =
        fromBase64(viewOf(value->get_string()), Base64Space::kRefused);
    if (!bytes) return false;
    put("[");
    for (std::size_t at = 0; at < bytes->size(); ++at) {
      if (at > 0) put(" ");
      put(std::to_string(static_cast<unsigned char>((*bytes)[at])));
    }
    put("]");
    return true;
  }

  std::uint32_t sum_ = kBasis;
};

}  // namespace

std::optional<std::uint32_t> checksumOf(const json::value& data) {
  Printer printer;
  if (!printer.print(data)) return std::nullopt;
  return printer.sum();
}

}  // namespace divvy::kubelet
