#include "cluster/openb_engine.h"

#include <algorithm>

namespace divvy::simulator {
namespace {

using engine::ModelName;

constexpr std::uint32_t kSlots = 1000;  // the protocol has no such limit

Bytes mibOf(std::int64_t count) {
  return mib(static_cast<std::uint64_t>(count));
}

}  // namespace

std::vector<ModelName> modelsOf(const std::string& joined) {
  std::vector<ModelName> models;
  for (std::size_t from = 0; from < joined.size();) {
    const std::size_t end = std::min(joined.find('|', from), joined.size());
    models.emplace_back(joined.substr(from, end - from));
    from = end + 1;
  }
  return models;
}

engine::Shape shapeOf(const OpenbPod& pod) {
  engine::Shape shape;
  engine::Container& container = shape.containers.emplace_back();
  container.cpu = {pod.cpu_milli};
  container.memory = mibOf(pod.memory_mib);
  container.devices.count = pod.gpus;
  container.devices.compute = {pod.gpu_milli};
  shape.selector.match = engine::ModelMatch::kExact;
  shape.selector.models = pod.gpus > 0 ? modelsOf(pod.models) : std::vector<ModelName>{};
  return shape;
}

engine::Node nodeOf(const OpenbNode& node, std::uint64_t order) {
  engine::Node result;
  result.name = engine::NodeName(node.name);
  result.cpu = {node.cpu_milli};
  result.memory = mibOf(node.memory_mib);
  result.order = order;
  for (std::uint32_t i = 0; i < node.gpus; ++i) {
    engine::Device device;
    device.uuid = engine::DeviceUuid(node.name + "/" + std::to_string(i));
    device.model = ModelName(node.model);
    device.slots = kSlots;
    result.devices.push_back(device);
  }
  return result;
}

}  // namespace divvy::simulator
