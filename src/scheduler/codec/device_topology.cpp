#include "codec/device_topology.h"

#include <algorithm>

#include "kube/device_scores.h"
#include "kube/labels.h"
#include "kube/nics.h"

namespace divvy::scheduler {
namespace {

using kube::RegisteredDevice;
using Registered = std::vector<RegisteredDevice>;
using Links = std::vector<engine::Link>;

// As much as NVIDIA's scores have for one NVLink, and from there on: less is of the PCIe bus.
constexpr std::uint32_t kOneLink = 100;

// Above each stated distance of a NIC (0 to 5).
constexpr std::uint32_t kFarther = 1'000;

engine::Link between(const RegisteredDevice& a, const RegisteredDevice& b, std::uint32_t score) {
  return {engine::DeviceUuid(a.id), engine::DeviceUuid(b.id), score, score >= kOneLink};
}

bool together(const vendors::LinkRule& rule, std::uint32_t a, std::uint32_t b) {
  const auto has = [](const std::vector<std::uint32_t>& group, std::uint32_t index) {
    return std::find(group.begin(), group.end(), index) != group.end();
  };
  return std::any_of(rule.together.begin(), rule.together.end(),
                     [&](const auto& group) { return has(group, a) && has(group, b); });
}

bool isKnown(const vendors::LinkRule& rule, const Registered& devices) {
  return rule.of != 0 && devices.size() == rule.of;
}

// Only a preference: an unreadable value is reported and has no effect.
std::vector<engine::ByCount> byCount(const kube::Node& node, const std::string& key,
                                     std::vector<std::string>* unread) {
  std::vector<engine::ByCount> list;
  const std::string* said = kube::valueOf(node.meta.annotations, key);
  if (said == nullptr) return list;
  const Result<kube::CountScores> read = kube::decodeCountScores(*said);
  if (!read) {
    unread->push_back("annotation " + key + ": " + read.error().message());
    return list;
  }
  for (const auto& [devices, value] : *read) list.push_back({devices, value});
  return list;
}

}  // namespace

Result<Links> linksOf(const kube::Node& node, const vendors::Kind& kind,
                      const Registered& devices) {
  kube::DeviceScores scores;
  const std::string& key = kind.wire.node.scores;
  if (const std::string* said = kube::valueOf(node.meta.annotations, key)) {
    Result<kube::DeviceScores> read = kube::decodeScores(*said);
    if (!read) return std::move(read).error().context("annotation " + key);
    scores = std::move(*read);
  }
  const bool known = isKnown(kind.links, devices);
  Links links;
  for (auto a = devices.begin(); a != devices.end(); ++a) {
    for (auto b = a + 1; b != devices.end(); ++b) {
      const auto score = scores.find(std::minmax(a->id, b->id));
      if (score != scores.end()) {
        links.push_back(between(*a, *b, score->second));
      } else if ((a->zone != 0 && a->zone == b->zone) ||
                 (known && together(kind.links, a->index, b->index))) {
        links.push_back(between(*a, *b, kOneLink));
      }
    }
  }
  return links;
}

std::vector<engine::Nic> nicsOf(const kube::Node& node, const std::vector<engine::Device>& devices,
                                std::vector<std::string>* unread) {
  std::vector<engine::Nic> nics;
  const auto said = node.meta.annotations.find(kube::kNicsKey);
  if (said == node.meta.annotations.end() || devices.empty()) return nics;
  const Result<std::vector<kube::Nic>> read = kube::decodeNics(said->second);
  if (!read) {
    unread->push_back(std::string("annotation ") + kube::kNicsKey + ": " + read.error().message());
    return nics;
  }
  for (const kube::Nic& one : *read) {
    engine::Nic& nic = nics.emplace_back();
    nic.name = engine::NicName(one.name);
    for (const engine::Device& device : devices) {
      const auto known = one.distances.find(device.uuid.text);
      nic.distances.push_back(known == one.distances.end() ? kFarther : known->second);
    }
  }
  return nics;
}

std::optional<engine::NodeScore> meritOf(const kube::Node& node, const vendors::Kind& kind,
                                         const Registered& devices, std::size_t first,
                                         std::vector<std::string>* unread) {
  engine::NodeScore merit;
  merit.kind = engine::DeviceKind(kind.name);
  merit.losses = byCount(node, kind.wire.node.count_losses, unread);
  merit.scores = byCount(node, kind.wire.node.count_scores, unread);
  if (isKnown(kind.links, devices)) {
    for (const std::vector<std::uint32_t>& group : kind.links.wings) {
      engine::Wing& wing = merit.wings.emplace_back();
      for (std::size_t at = 0; at < devices.size(); ++at)
        if (std::find(group.begin(), group.end(), devices[at].index) != group.end())
          wing.places.push_back(static_cast<std::uint32_t>(first + at));
    }
  }
  const auto zoned = [](const RegisteredDevice& one) { return one.zone != 0; };
  const bool zones = std::any_of(devices.begin(), devices.end(), zoned);
  merit.links = kind.links.sparing && zones;
  if (zones) merit.together = kind.links.points;
  const bool any = !merit.losses.empty() || !merit.scores.empty() || !merit.wings.empty() ||
                   merit.links || merit.together > 0;
  return any ? std::optional(std::move(merit)) : std::nullopt;
}

}  // namespace divvy::scheduler
