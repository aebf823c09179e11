// Any bytes as nodes, tenants and a pod of several shares. The judge is what a question costs: no
// more tries than a decision has, over all nodes and all victims; and no device is given twice.
#include <cstdint>
#include <map>
#include <string>

#include "engine/engine.h"
#include "fuzz_input.h"

using namespace divvy;
using namespace divvy::engine;

namespace {

using Input = FuzzInput;

Node nodeOf(unsigned number, Input* in) {
  Node node;
  node.name = NodeName("n" + std::to_string(number));
  const unsigned devices = 1 + in->byte() % 16;
  const unsigned memory = in->byte();
  const unsigned uneven = in->byte();
  for (unsigned i = 0; i < devices; ++i) {
    Device device;
    device.uuid = DeviceUuid(node.name.text + '-' + std::to_string(i));
    device.model = ModelName("H100");
    device.memory = mib(1'000 + 100 * memory + i * uneven);
    device.compute = kWholeDevice;
    device.slots = 1 + uneven % 40;
    if ((uneven & 1) != 0) device.numa = i / 4;
    node.devices.push_back(std::move(device));
  }
  return node;
}

Request requestOf(const std::string& id, unsigned most, Input* in) {
  Request request;
  request.id = RequestId(id);
  const unsigned containers = 1 + in->byte() % most;
  for (unsigned i = 0; i < containers; ++i) {
    Container container;
    const unsigned how = in->byte();
    container.devices.count = 1 + how % 3;
    container.devices.memory = mib(1 + 40 * in->byte());
    container.devices.compute = {static_cast<std::int32_t>(in->byte()) * 2};
    const bool init = how % 8 == 7;
    container.sidecar = init && how % 16 == 15;
    (init ? request.shape.init : request.shape.containers).push_back(container);
  }
  return request;
}

// Within what a node's search may go on beyond the budget.
constexpr std::uint64_t kMax = kTriesOfDecision + 4'000;

template <typename Ask>
void bounded(const Engine& engine, std::uint64_t most, const Ask& ask) {
  const std::uint64_t before = engine.tries();
  ask();
  need(engine.tries() - before <= most, "a question has more tries than a decision");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Engine engine{Config{}};
  const unsigned nodes = 1 + in.byte() % 64;
  std::map<DeviceUuid, std::uint64_t> memory;
  const unsigned alike = 1 + in.byte() % nodes;
  for (unsigned i = 0; i < nodes; ++i) {
    Input same = in;
    const Node node = nodeOf(i, i < alike ? &same : &in);
    for (const Device& device : node.devices) memory[device.uuid] = device.memory.count;
    need(bool(engine.setNode(node)), "a node is refused");
  }
  EvictionCosts costs;
  for (unsigned i = 0, tenants = in.byte() % 40; i < tenants && !in.empty(); ++i) {
    const Request tenant = requestOf("t" + std::to_string(i), 2, &in);
    bounded(engine, kMax, [&] {
      if (engine.place(tenant, Instant{1})) costs.of[tenant.id] = {in.byte() % 5, 1, "", ""};
    });
  }
  const Request pod = requestOf("pod", 32, &in);
  bool fits = false;
  bounded(engine, kMax, [&] {
    const Result<Decision> decision = engine.explain(pod);
    fits = decision && decision->fits();
    need(!decision || fits || decision->refusals.size() == nodes, "a node has no verdict");
  });
  bounded(engine, kMax, [&] { (void)engine.compactRefusals(pod); });
  bounded(engine, kMax, [&] { (void)engine.remedies(pod, NodeName("n0")); });
  if (!fits) bounded(engine, 2 * kMax, [&] { (void)engine.preempt(pod, 10, costs); });
  bounded(engine, kMax, [&] { (void)engine.place(pod, Instant{1}); });
  std::map<DeviceUuid, std::uint64_t> taken;
  for (const Allocation& one : engine.allocations())
    for (const Charge& charge : one.placement.charges) taken[charge.uuid] += charge.memory.count;
  for (const auto& [uuid, bytes] : taken) need(bytes <= memory.at(uuid), "a device is given twice");
  return 0;
}
