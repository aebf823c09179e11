#include "requests/shape.h"

#include <map>
#include <string>

#include "requests/partitioning.h"

namespace divvy::requests {
namespace {

using Kinds = std::map<std::string, const vendors::Kind*>;

bool hasMemory(const vendors::Kind& kind) {
  return !kind.memory.resource.empty() || !kind.memory.percent.empty();
}

engine::DeviceMemory memoryOf(const vendors::KindRequest& request) {
  if (const auto* bytes = std::get_if<Bytes>(&request.memory)) return *bytes;
  if (const auto* percent = std::get_if<vendors::PercentMemory>(&request.memory)) {
    return engine::Percent{percent->value};
  }
  if (std::holds_alternative<vendors::SliceMemory>(request.memory)) return Bytes{};
  const bool shared =
      request.compute_milli < static_cast<std::uint32_t>(engine::kWholeDevice.milli);
  if (shared && !hasMemory(*request.kind)) return Bytes{};
  return engine::Percent{100};
}

engine::DeviceRequest deviceRequestOf(const vendors::KindRequest& request) {
  engine::DeviceRequest result;
  result.count = request.count;
  result.kind = engine::DeviceKind(request.kind->name);
  if (request.part != nullptr) {
    result.part = engine::PartName(request.part->name);
  } else if (!request.instance.empty()) {
    result.part = engine::PartName(request.instance);
  } else if (request.slice != 0) {
    result.part = sliceName(request.slice);
  } else {
    result.memory = memoryOf(request);
    result.compute = {static_cast<std::int32_t>(request.compute_milli)};
    if (!request.kind->slice.empty() || request.partitioned) result.part = engine::PartName();
  }
  // The memory of no part is all of it: that with all the compute is meant.
  const bool all = std::holds_alternative<vendors::WholeMemory>(request.memory);
  if (result.part && result.part->empty() && all) {
    result.memory = Bytes{};
    result.compute = engine::kWholeDevice;
  }
  return result;
}

engine::Container containerOf(const ContainerRequests& requests, Kinds* kinds) {
  engine::Container result{requests.cpu, requests.memory, {}};
  result.sidecar = requests.sidecar;
  for (const vendors::KindRequest& request : requests.devices) {
    kinds->emplace(request.kind->name, request.kind);
    if (result.devices.count == 0) {
      result.devices = deviceRequestOf(request);
    } else {
      result.others.push_back(deviceRequestOf(request));
    }
  }
  return result;
}

template <typename Name>
std::vector<Name> namesOf(const std::vector<std::string>& texts) {
  std::vector<Name> names;
  for (const std::string& text : texts) names.emplace_back(text);
  return names;
}

engine::Selector selectorOf(const vendors::Selection& selection) {
  engine::Selector selector;
  selector.models = namesOf<engine::ModelName>(selection.models);
  selector.not_models = namesOf<engine::ModelName>(selection.not_models);
  selector.uuids = namesOf<engine::DeviceUuid>(selection.uuids);
  selector.not_uuids = namesOf<engine::DeviceUuid>(selection.not_uuids);
  return selector;
}

}  // namespace

engine::Shape shapeOf(std::span<const ContainerRequests> init,
                      std::span<const ContainerRequests> containers,
                      const vendors::Annotations& annotations) {
  engine::Shape shape;
  Kinds kinds;
  for (const ContainerRequests& one : init) shape.init.push_back(containerOf(one, &kinds));
  for (const ContainerRequests& one : containers)
    shape.containers.push_back(containerOf(one, &kinds));
  for (const auto& [name, kind] : kinds) {
    const vendors::Selection selection = vendors::readSelection(*kind, annotations);
    if (selection == vendors::Selection{}) continue;
    if (kinds.size() == 1) {
      shape.selector = selectorOf(selection);
    } else {
      shape.by_kind.push_back({engine::DeviceKind(name), selectorOf(selection)});
    }
  }
  return shape;
}

std::set<engine::DeviceKind> kindsOf(const engine::Shape& shape) {
  std::set<engine::DeviceKind> kinds;
  for (const auto* list : {&shape.init, &shape.containers}) {
    for (const engine::Container& one : *list) {
      if (one.devices.count > 0) kinds.insert(one.devices.kind);
      for (const engine::DeviceRequest& other : one.others) kinds.insert(other.kind);
    }
  }
  return kinds;
}

engine::Selector& selectorOf(const engine::DeviceKind& kind, engine::Shape* shape) {
  for (engine::KindSelector& one : shape->by_kind)
    if (one.kind == kind) return one.selector;
  if (kindsOf(*shape).size() <= 1) return shape->selector;
  return shape->by_kind.emplace_back(engine::KindSelector{kind, shape->selector}).selector;
}

}  // namespace divvy::requests
