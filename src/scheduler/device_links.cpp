#include "device_links.h"

#include <algorithm>

#include "kube/device_scores.h"

namespace divvy::scheduler {
namespace {

using kube::RegisteredDevice;
using Registered = std::vector<RegisteredDevice>;
using Links = std::vector<engine::Link>;

// As much as NVIDIA's scores have for one NVLink, and from there on: less is of the PCIe bus.
constexpr std::uint32_t kOneLink = 100;

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

}  // namespace

Result<Links> linksOf(const kube::Node& node, const vendors::Kind& kind,
                      const Registered& devices) {
  kube::DeviceScores scores;
  const std::string& key = kind.wire.node.scores;
  const auto said = node.meta.annotations.find(key);
  if (!key.empty() && said != node.meta.annotations.end()) {
    Result<kube::DeviceScores> read = kube::decodeScores(said->second);
    if (!read) return std::move(read).error().context("annotation " + key);
    scores = std::move(*read);
  }
  const bool known = kind.links.of != 0 && devices.size() == kind.links.of;
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

}  // namespace divvy::scheduler
