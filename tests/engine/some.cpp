#include "some.h"

namespace divvy::engine::some {
namespace {

const std::vector<std::string> kModels{"H100-SXM", "H100-PCIE", "A10", "T4"};

std::string oneOf(Rng& rng, const std::vector<std::string>& all) {
  return all[rng.below(all.size())];
}

Device wildDevice(Rng& rng, const std::string& uuid, const std::string& model) {
  Device result = device(uuid, model);
  result.memory = gib(8 * (1 + rng.below(3)));
  result.slots = static_cast<std::uint32_t>(1 + rng.below(4));
  const std::uint64_t odd = rng.below(24);
  if (odd == 0) result.health = Health::kUnhealthy;
  if (odd == 1) result.cordoned = true;
  if (odd == 2) result.mode = Mode::kExternal;
  if (odd == 3) result.mode = Mode::kMig;
  if (odd == 4) result.mode = Mode::kExclusive;
  if (odd == 5) result.mode = Mode::kMps;
  if (odd == 6) result.compute = {500};
  return result;
}

const std::vector<std::string> kKindNames{"NVIDIA", "Ascend910B4", "Ascend910B4-1"};

// Of two kinds at most, the second one beside the first.
void addKinds(Rng& rng, Container* one) {
  const std::uint64_t first = rng.below(kKindNames.size());
  one->devices.kind = DeviceKind(kKindNames[first]);
  if (rng.below(3) != 0) return;
  DeviceRequest other = one->devices;
  other.kind = DeviceKind(kKindNames[(first + 1) % kKindNames.size()]);
  other.count = static_cast<std::uint32_t>(rng.below(3));
  other.compute = {static_cast<std::int32_t>(rng.below(3) * 500)};
  one->others.push_back(other);
}

// A fifth of what there is, or two, ...
Bytes fifths(Rng& rng, Bytes of) {
  return {of.count / 5 * rng.below(6)};
}

void wildTerms(Rng& rng, Device* device) {
  OvercommitPolicy& terms = device->terms;
  if (rng.below(2) == 0)
    terms.overcommit_permille = static_cast<std::uint32_t>(1000 + 100 * rng.below(16));
  if (rng.below(3) == 0) terms.budget = fifths(rng, device->memory);
  if (rng.below(3) == 0) terms.foreign = fifths(rng, device->memory);
  if (rng.below(2) == 0) terms.context = mib(256 * rng.below(8));
  terms.host_map = rng.below(2) == 0;
  if (rng.below(4) == 0) device->compute_rule = ComputeRule::kWeight;
}

void wildGuarantee(Rng& rng, DeviceRequest* ask) {
  if (rng.below(2) == 0) {
    ask->guarantee = Percent{static_cast<std::uint32_t>(1 + rng.below(60))};
  } else {
    ask->guarantee = mib(512 * rng.below(8));
  }
}

Container wildContainer(Rng& rng) {
  const std::vector<std::int32_t> compute{0, 100, 250, 300, 500, 700, 1000, 1000};
  Container one{{static_cast<std::int64_t>(1000 * rng.below(9))}, gib(rng.below(12)), {}};
  one.devices.count = static_cast<std::uint32_t>(rng.below(8) == 0   ? 2 + rng.below(2)
                                                 : rng.below(4) == 0 ? 0
                                                                     : 1);
  one.devices.compute = {compute[rng.below(compute.size())]};
  if (rng.below(3) == 0) {
    one.devices.memory = Percent{static_cast<std::uint32_t>(1 + rng.below(100))};
  } else {
    one.devices.memory = mib(1024 * rng.below(10));
  }
  return one;
}

}  // namespace

Device device(const std::string& uuid, const std::string& model) {
  Device result;
  result.uuid = DeviceUuid(uuid);
  result.model = ModelName(model);
  result.memory = gib(80);
  return result;
}

Node node(const std::string& name, unsigned devices, const std::string& model) {
  Node result;
  result.name = NodeName(name);
  result.cpu = {64'000};
  result.memory = gib(256);
  for (unsigned i = 0; i < devices; ++i) {
    result.devices.push_back(device(name + "/" + std::to_string(i), model));
  }
  return result;
}

Request request(const std::string& id, unsigned devices, int compute, Bytes memory) {
  Request result;
  result.id = RequestId(id);
  result.shape.containers.push_back({{1000}, gib(1), {devices, memory, {compute}}});
  return result;
}

Node Wild::node(const std::string& name) {
  Node result;
  result.name = NodeName(name);
  result.cpu = {static_cast<std::int64_t>(8000 * (1 + rng.below(4)))};
  result.memory = gib(16 * (1 + rng.below(4)));
  result.cordoned = rng.below(20) == 0;
  const std::string model = oneOf(rng, kModels);
  const bool mixed = multi && rng.below(4) == 0;
  const std::uint64_t devices = rng.below(5);
  for (std::uint64_t i = 0; i < devices; ++i) {
    result.devices.push_back(
        wildDevice(rng, name + "/" + std::to_string(i), mixed ? oneOf(rng, kModels) : model));
    if (multi && rng.below(3) == 0) wildTerms(rng, &result.devices.back());
  }
  if (multi && rng.below(3) == 0) {
    for (Device& device : result.devices) device.kind = DeviceKind(oneOf(rng, kKindNames));
  }
  result.host_reserve = gib(rng.below(16));
  if (topology) connect(rng, &result);
  return result;
}

Request Wild::request(const std::string& id) {
  Request result;
  result.id = RequestId(id);
  Shape& shape = result.shape;
  shape.containers.push_back(wildContainer(rng));
  while (multi && rng.below(3) == 0 && shape.containers.size() < 3) {
    shape.containers.push_back(wildContainer(rng));
  }
  while (multi && rng.below(6) == 0 && shape.init.size() < 2) {
    shape.init.push_back(wildContainer(rng));
    shape.init.back().sidecar = rng.below(2) == 0;
  }
  for (Container& one : shape.containers)
    if (multi && rng.below(4) == 0) wildGuarantee(rng, &one.devices);
  shape.context_outside = multi && rng.below(4) == 0;
  Selector& selector = shape.selector;
  if (rng.below(4) == 0)
    selector.models.emplace_back(oneOf(rng, {"h100", "a10", "t4", "H100-PCIE"}));
  if (rng.below(8) == 0) selector.not_models.emplace_back(oneOf(rng, {"sxm", "T4"}));
  if (rng.below(6) == 0) selector.match = ModelMatch::kExact;
  if (multi && rng.below(4) == 0) {
    for (Container& one : shape.containers) addKinds(rng, &one);
    if (rng.below(2) == 0) {
      Selector of_kind;
      of_kind.models.emplace_back(oneOf(rng, {"h100", "a10", "t4"}));
      shape.by_kind.push_back({DeviceKind(oneOf(rng, kKindNames)), of_kind});
    }
  }
  const std::string uuid = "n" + std::to_string(rng.below(4)) + "/" + std::to_string(rng.below(3));
  if (rng.below(16) == 0) selector.uuids.emplace_back(uuid);
  if (rng.below(16) == 0) selector.not_uuids.emplace_back(uuid);
  if (company && rng.below(3) == 0) {
    ColocationRule one{DeviceKind(), static_cast<std::uint8_t>(1 + rng.below(3)), 0};
    for (unsigned sort = 1; sort <= 3; ++sort)
      if (rng.below(3) != 0) one.beside |= static_cast<std::uint16_t>(1u << sort);
    shape.company.push_back(one);
  }
  if (topology) {
    shape.devices = devicePolicy(rng);
    for (Container& one : shape.containers)
      if (one.devices.count == 1 && rng.below(2) == 0) one.devices.count = 2;
  }
  return result;
}

// Some links, some direct ones; the first devices are often all linked to each other.
void connect(Rng& rng, Node* node) {
  std::vector<Device>& devices = node->devices;
  for (Device& device : devices)
    if (rng.below(8) != 0) device.numa = static_cast<unsigned>(rng.below(2));
  const bool island = rng.below(2) == 0;
  for (std::size_t a = 0; a < devices.size(); ++a) {
    for (std::size_t b = a + 1; b < devices.size(); ++b) {
      if (!(island && b < 3) && rng.below(2) == 0) continue;
      const auto score = static_cast<std::uint32_t>(1 + rng.below(4) * 100);
      node->links.push_back({devices[b].uuid, devices[a].uuid, score, rng.below(3) != 0});
    }
  }
  for (std::uint64_t nics = rng.below(3); nics > 0; --nics) {
    Nic nic{NicName("mlx5_" + std::to_string(nics)), {}};
    for (std::size_t i = 0; i < devices.size(); ++i)
      nic.distances.push_back(static_cast<std::uint32_t>(rng.below(4)));
    node->nics.push_back(nic);
  }
}

DevicePolicy devicePolicy(Rng& rng) {
  DevicePolicy policy;
  policy.order = static_cast<DeviceOrder>(rng.below(3));
  policy.mutex = rng.below(6) == 0;
  policy.numa = static_cast<Preference>(rng.below(3));
  policy.links = static_cast<Preference>(rng.below(3));
  if (rng.below(4) == 0) policy.nic = NicName("mlx5_1");
  return policy;
}

Target target() {
  return {{{4000}, {1000}, 1, {}, 40}, {{2000}, {300}, 1, {}, 25},
          {{8000}, {1000}, 4, {}, 5},  {{1000}, {500}, 1, {ModelName("T4"), ModelName("A10")}, 15},
          {{6000}, {0}, 0, {}, 12},    {{3000}, {810}, 1, {ModelName("H100-SXM")}, 10}};
}

}  // namespace divvy::engine::some
