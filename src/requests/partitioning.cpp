#include "requests/partitioning.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/model_name.h"

namespace divvy::requests {
namespace {

constexpr std::uint32_t kWhole = 1000;

engine::Compute shareOf(std::uint32_t part, std::uint32_t all) {
  return {static_cast<std::int32_t>(part * kWhole / all)};
}

engine::Partitioning templatesOf(const vendors::Kind& kind) {
  engine::Partitioning parting;
  parting.cpus = kind.card.cpus;
  for (const vendors::Template& one : kind.templates) {
    // Not counted where it is not known how many the card has.
    const std::uint32_t cpus = kind.card.cpus == 0 ? 0 : one.cpus;
    parting.parts.push_back(
        {engine::PartName(one.name), one.memory, shareOf(one.cores, kind.card.cores), cpus, 0, {}});
  }
  return parting;
}

engine::Partitioning instancesOf(const vendors::Geometry& geometry) {
  engine::Partitioning parting;
  parting.slices = geometry.slices;
  for (const vendors::Instance& one : geometry.instances) {
    parting.parts.push_back({engine::PartName(one.name), Bytes{geometry.slice.count * one.size},
                             shareOf(one.compute, geometry.compute), 0, one.size, one.starts});
  }
  return parting;
}

}  // namespace

std::shared_ptr<const engine::Partitioning> partitioningOf(const vendors::Kind& kind,
                                                           std::string_view model) {
  if (!kind.templates.empty()) return std::make_shared<engine::Partitioning>(templatesOf(kind));
  for (const vendors::Geometry& geometry : kind.geometries) {
    if (std::any_of(geometry.models.begin(), geometry.models.end(),
                    [&](const std::string& words) { return namesModel(words, model); })) {
      return std::make_shared<engine::Partitioning>(instancesOf(geometry));
    }
  }
  return nullptr;
}

engine::PartName sliceName(std::uint64_t size) {
  return engine::PartName(std::to_string(size));
}

}  // namespace divvy::requests
