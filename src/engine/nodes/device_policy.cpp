#include "engine/device_policy.h"

#include <algorithm>
#include <array>

namespace divvy::engine {
namespace {

constexpr std::string_view kNicIs = "nic=";
constexpr std::string_view kAccepted =
    "tightest, binpack, spread, mutex, numa, numa-strict, topology-aware, link-strict, nic=NAME";

// Applies one word. Returns false if it is unknown.
bool apply(std::string_view word, DevicePolicy* to) {
  if (word == "tightest") {
    to->order = DeviceOrder::kTightest;
  } else if (word == "binpack") {
    to->order = DeviceOrder::kBinpack;
  } else if (word == "spread") {
    to->order = DeviceOrder::kSpread;
  } else if (word == "mutex") {
    to->mutex = true;
  } else if (word == "numa") {
    to->numa = std::max(to->numa, Preference::kPreferred);
  } else if (word == "numa-strict") {
    to->numa = Preference::kRequired;
  } else if (word == "topology-aware") {
    to->links = std::max(to->links, Preference::kPreferred);
  } else if (word == "link-strict") {
    to->links = Preference::kRequired;
  } else if (word.substr(0, kNicIs.size()) == kNicIs && word.size() > kNicIs.size()) {
    to->nic = NicName(std::string(word.substr(kNicIs.size())));
  } else {
    return false;
  }
  return true;
}

std::string_view trimmed(std::string_view word) {
  const std::size_t first = word.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return word.substr(first, word.find_last_not_of(' ') - first + 1);
}

}  // namespace

Result<DevicePolicy> parseDevicePolicy(std::string_view text) {
  DevicePolicy policy;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = trimmed(rest.substr(0, comma));
    if (!apply(word, &policy)) {
      return Error{ErrorCode::kUsage, "device policy \"" + std::string(word) +
                                          "\"; accepted: " + std::string(kAccepted)};
    }
    if (comma == std::string_view::npos) return policy;
    rest.remove_prefix(comma + 1);
  }
}

std::string text(const DevicePolicy& policy) {
  constexpr std::array<const char*, 3> kOrders{"tightest", "binpack", "spread"};
  std::string all;
  const auto add = [&](const std::string& word) { all += (all.empty() ? "" : ",") + word; };
  if (policy.mutex) add("mutex");
  if (policy.numa != Preference::kNone)
    add(policy.numa == Preference::kRequired ? "numa-strict" : "numa");
  if (policy.links != Preference::kNone)
    add(policy.links == Preference::kRequired ? "link-strict" : "topology-aware");
  if (!policy.nic.empty()) add(std::string(kNicIs) + policy.nic.text);
  if (policy.order != DeviceOrder::kTightest || all.empty())
    add(kOrders[static_cast<std::size_t>(policy.order)]);
  return all;
}

}  // namespace divvy::engine
