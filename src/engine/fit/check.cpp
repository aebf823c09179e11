// Refuses requests and descriptions that can never be valid, before they are used.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/model_name.h"
#include "nodes/partitioning.h"
#include "nodes/shape_class.h"

namespace divvy::engine {
namespace {

constexpr std::size_t kMaxContainers = 256;
constexpr std::uint32_t kMaxSlots = 1u << 20;
constexpr std::uint32_t kMaxOvercommit = 4000;
constexpr std::uint32_t kMaxScore = 1u << 20;

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

Result<void> checkAmounts(const std::string& who, Cpu cpu, Bytes memory) {
  if (cpu.milli < 0 || cpu > kMaxCpu) {
    return usage(who + ": " + std::to_string(cpu.milli) +
                 " thousandths of a core; accepted: 0 to " + std::to_string(kMaxCpu.milli));
  }
  if (memory.count > kMaxBytes) {
    return usage(who + ": " + formatBytes(memory) + " of memory; accepted: at most " +
                 formatBytes({kMaxBytes}));
  }
  return {};
}

Result<void> checkDeviceMemory(const std::string& who, const DeviceMemory& memory) {
  if (const auto* percent = std::get_if<Percent>(&memory)) {
    if (percent->value == 0 || percent->value > 100) {
      return usage(who + ": " + std::to_string(percent->value) +
                   " percent of a device's memory; accepted: 1 to 100");
    }
    return {};
  }
  return checkAmounts(who, Cpu{}, std::get<Bytes>(memory));
}

Result<void> checkCompany(const ColocationRule& company) {
  if (company.sort > 0 && company.sort < kSorts && (company.beside & 1u) == 0) return {};
  return usage("company of sort " + std::to_string(company.sort) + "; accepted: 1 to " +
               std::to_string(kSorts - 1) + ", beside such");
}

bool asksForAnyKind(const std::vector<Container>& containers) {
  return std::any_of(containers.begin(), containers.end(), [](const Container& one) {
    return one.devices.count > 0 && one.devices.kind.empty();
  });
}

Result<void> checkCompanies(const Shape& shape) {
  std::set<DeviceKind> kinds;
  const bool any = asksForAnyKind(shape.init) || asksForAnyKind(shape.containers);
  for (const ColocationRule& one : shape.company) {
    const bool for_all = one.kind.empty();
    if (!kinds.insert(one.kind).second || (for_all && shape.company.size() > 1))
      return usage("several companies of devices of kind \"" + one.kind.text +
                   "\"; accepted: one of each kind, or one of all");
    if (any && !for_all)
      return usage("a company of devices of kind \"" + one.kind.text +
                   "\", and devices of any kind are asked for; accepted: kinds by their names");
    const Result<void> right = checkCompany(one);
    if (!right) return right;
  }
  return {};
}

Result<void> checkDeviceRequest(const std::string& who, const DeviceRequest& request) {
  if (request.count > kMaxDevicesPerNode) {
    return usage(who + ": " + std::to_string(request.count) + " devices; accepted: at most " +
                 std::to_string(kMaxDevicesPerNode));
  }
  if (request.compute.milli < 0 || request.compute > kWholeDevice) {
    return usage(
        who + ": " + std::to_string(request.compute.milli) +
        " thousandths of a device; accepted: 0 (the remaining compute) to 1000 (exclusive)");
  }
  if (request.part && !request.part->empty() &&
      (request.memory != DeviceMemory(Bytes{}) || request.compute != Compute{})) {
    return usage(who + ": the part " + request.part->text +
                 ", and memory or compute; accepted: a part by name, or by memory and compute");
  }
  if (request.part && request.guarantee) {
    return usage(who + ": a part, and a guarantee; accepted: a part, all of which is guaranteed");
  }
  const Result<void> memory = checkDeviceMemory(who, request.memory);
  if (!memory || !request.guarantee) return memory;
  return checkDeviceMemory(who + ", guarantee", *request.guarantee);
}

// Asks of several kinds: each must name its kind, so that no device matches two of them.
Result<void> checkDeviceRequests(const std::string& who, const Container& container) {
  std::set<DeviceKind> kinds;
  const bool several = !container.others.empty();
  const auto check = [&](const DeviceRequest& request) -> Result<void> {
    if (several && request.kind.empty()) {
      return usage(who + ": devices of several kinds, one of them without its name");
    }
    if (!kinds.insert(request.kind).second) {
      return usage(who + ": devices of kind " + request.kind.text + " twice; accepted: once");
    }
    return checkDeviceRequest(who, request);
  };
  const Result<void> first = check(container.devices);
  if (!first) return first;
  for (const DeviceRequest& request : container.others) {
    const Result<void> other = check(request);
    if (!other) return other;
  }
  return {};
}

Result<void> checkSelector(const Selector& selector) {
  for (const std::vector<ModelName>* list : {&selector.models, &selector.not_models}) {
    if (std::any_of(list->begin(), list->end(), [](const ModelName& m) { return m.empty(); })) {
      return usage("a model without a name; accepted: a model, or no list of models at all");
    }
    if (selector.match != ModelMatch::kWords) continue;
    for (const ModelName& model : *list)
      if (!isModelPattern(model.text))
        return usage("model \"" + model.text +
                     "\" has no letter or digit; accepted: " + std::string(kModelPatterns));
  }
  return {};
}

Result<void> checkContainers(const std::vector<Container>& containers, const char* which) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string who = std::string(which) + " " + std::to_string(i);
    const Result<void> amounts = checkAmounts(who, containers[i].cpu, containers[i].memory);
    if (!amounts) return amounts;
    const Result<void> requests = checkDeviceRequests(who, containers[i]);
    if (!requests) return requests;
  }
  return {};
}

Result<void> checkSidecars(const std::vector<Container>& containers) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (containers[i].sidecar)
      return usage("container " + std::to_string(i) +
                   " is a sidecar; accepted: of init containers only");
  }
  return {};
}

}  // namespace

Result<void> checkTerms(const std::string& who, const OvercommitPolicy& terms) {
  if (terms.overcommit_permille < kNoOvercommit || terms.overcommit_permille > kMaxOvercommit) {
    return usage(who + ": overcommit of " + std::to_string(terms.overcommit_permille) +
                 " thousandths; accepted: " + std::to_string(kNoOvercommit) + " to " +
                 std::to_string(kMaxOvercommit));
  }
  for (const Bytes amount : {terms.foreign, terms.budget, terms.context}) {
    const Result<void> right = checkAmounts(who, Cpu{}, amount);
    if (!right) return right;
  }
  return {};
}

namespace {

Result<void> checkWeights(const Shape& shape) {
  if (shape.devices) {
    const UseWeights& use = shape.devices->use;
    const std::uint32_t most = std::max({use.slots, use.compute, use.memory});
    if (most == 0 || most > kMaxWeight) {
      return usage("weights of a device's slots, compute and memory up to " + std::to_string(most) +
                   "; accepted: up to 1 to " + std::to_string(kMaxWeight));
    }
  }
  if (!shape.weights) return {};
  std::int32_t most = 0;
  const Weights& w = *shape.weights;
  for (const std::int32_t one :
       {w.cpu, w.memory, w.compute, w.device_memory, w.fragment, w.links}) {
    if (one < -kMaxWeight || one > kMaxWeight) {
      return usage("a node's weight of " + std::to_string(one) + "; accepted: -" +
                   std::to_string(kMaxWeight) + " to " + std::to_string(kMaxWeight));
    }
    most = std::max(most, std::abs(one));
  }
  if (most == 0) return usage("a node's weights are all 0; accepted: at least one other");
  return {};
}

}  // namespace

namespace {

bool hasParts(const std::vector<Container>& containers) {
  return std::any_of(containers.begin(), containers.end(), [](const Container& one) {
    return one.devices.part ||
           std::any_of(one.others.begin(), one.others.end(),
                       [](const DeviceRequest& request) { return request.part; });
  });
}

// Partitions have no links, and a partition never has the device for itself.
Result<void> checkPolicy(const Shape& shape) {
  if (!shape.devices || (!hasParts(shape.init) && !hasParts(shape.containers))) return {};
  DevicePolicy plain;
  plain.order = shape.devices->order;
  if (*shape.devices == plain) return {};
  return usage("parts of devices, and \"" + text(*shape.devices) +
               "\" of the devices; accepted: one of them");
}

}  // namespace

Result<void> checkShape(const Shape& shape) {
  const Result<void> weights = checkWeights(shape);
  if (!weights) return weights;
  for (const std::uint16_t permille : shape.daily.value_or(UsageByHour{}).permille) {
    if (permille > kAllOfIt)
      return usage("a day with " + std::to_string(permille) +
                   " thousandths of the request in an hour; accepted: at most 1000");
  }
  if (shape.init.size() + shape.containers.size() > kMaxContainers) {
    return usage("more than " + std::to_string(kMaxContainers) + " containers");
  }
  const Result<void> init = checkContainers(shape.init, "init container");
  if (!init) return init;
  const Result<void> selector = checkSelector(shape.selector);
  if (!selector) return selector;
  std::set<DeviceKind> kinds;
  for (const KindSelector& one : shape.by_kind) {
    if (one.kind.empty() || !kinds.insert(one.kind).second) {
      return usage("devices to choose from of kind \"" + one.kind.text +
                   "\"; accepted: each kind by its name, once");
    }
    const Result<void> right = checkSelector(one.selector);
    if (!right) return right;
  }
  const Result<void> company = checkCompanies(shape);
  if (!company) return company;
  const Result<void> sidecars = checkSidecars(shape.containers);
  if (!sidecars) return sidecars;
  const Result<void> containers = checkContainers(shape.containers, "container");
  return containers ? checkPolicy(shape) : containers;
}

namespace {

Result<void> checkLinks(const std::string& who, const Node& node,
                        const std::set<DeviceUuid>& devices) {
  std::set<std::pair<DeviceUuid, DeviceUuid>> seen;
  for (const Link& link : node.links) {
    const std::string what = who + ", link of " + link.a.text + " and " + link.b.text;
    if (devices.count(link.a) == 0 || devices.count(link.b) == 0 || link.a == link.b) {
      return usage(what + "; accepted: two different devices of the node");
    }
    if (!seen.insert(std::minmax(link.a, link.b)).second) return usage(what + ": twice");
    if (link.score == 0 || link.score > kMaxScore) {
      return usage(what + ": score " + std::to_string(link.score) + "; accepted: 1 to " +
                   std::to_string(kMaxScore));
    }
  }
  return {};
}

Result<void> checkRows(const std::string& who, const Node& node) {
  std::set<std::pair<DeviceKind, std::uint32_t>> seen;
  for (const Device& device : node.devices) {
    if (!device.row || seen.emplace(device.kind, device.row->place).second) continue;
    return usage(who + ", device " + device.uuid.text + ": place " +
                 std::to_string(device.row->place) + " of the row is another one's");
  }
  return {};
}

Result<void> checkMerits(const std::string& who, const Node& node) {
  std::set<DeviceKind> seen;
  for (const NodeScore& merit : node.merits) {
    const std::string what = who + ", merits of " + merit.kind.text;
    if (!seen.insert(merit.kind).second) return usage(what + ": twice");
    if (merit.together > kMaxScore) {
      return usage(what + ": " + std::to_string(merit.together) + " points; accepted: 0 to " +
                   std::to_string(kMaxScore));
    }
    DeviceSet taken = 0;
    for (const Wing& wing : merit.wings) {
      for (const std::uint32_t place : wing.places) {
        if (place >= node.devices.size() || (taken & only(place)) != 0) {
          return usage(what + ": device " + std::to_string(place) +
                       " of a wing; accepted: each of the node's devices once");
        }
        taken |= only(place);
      }
    }
  }
  return {};
}

Result<void> checkNics(const std::string& who, const Node& node) {
  std::set<NicName> seen;
  for (const Nic& nic : node.nics) {
    if (nic.name.empty()) return usage(who + ": a NIC without a name");
    const std::string what = who + ", NIC " + nic.name.text;
    if (!seen.insert(nic.name).second) return usage(what + ": twice");
    if (nic.distances.size() != node.devices.size()) {
      return usage(what + ": " + std::to_string(nic.distances.size()) +
                   " distances; accepted: one for each of the " +
                   std::to_string(node.devices.size()) + " devices");
    }
  }
  return {};
}

}  // namespace

Result<void> checkNode(const Node& node) {
  if (node.name.empty()) return usage("a node without a name");
  const std::string who = "node " + node.name.text;
  for (const Bytes memory : {node.memory, node.host_reserve}) {
    const Result<void> amounts = checkAmounts(who, node.cpu, memory);
    if (!amounts) return amounts;
  }
  if (node.devices.size() > kMaxDevicesPerNode) {
    return usage(who + ": " + std::to_string(node.devices.size()) + " devices; accepted: at most " +
                 std::to_string(kMaxDevicesPerNode));
  }
  std::set<DeviceUuid> seen;
  for (const Device& device : node.devices) {
    if (device.uuid.empty()) return usage(who + ": a device without a UUID");
    const std::string what = who + ", device " + device.uuid.text;
    if (!seen.insert(device.uuid).second) return usage(what + ": twice");
    if (device.compute.milli < 0 || device.compute > kWholeDevice) {
      return usage(what + ": " + std::to_string(device.compute.milli) +
                   " thousandths of compute; accepted: 0 to 1000");
    }
    if (device.slots > kMaxSlots) {
      return usage(what + ": " + std::to_string(device.slots) + " slots; accepted: at most " +
                   std::to_string(kMaxSlots));
    }
    const Result<void> memory = checkAmounts(what, Cpu{}, device.memory);
    if (!memory) return memory;
    const Result<void> terms = checkTerms(what, device.terms);
    if (!terms) return terms;
    if (device.parting == nullptr) continue;
    if (device.terms != OvercommitPolicy{}) {
      return usage(what + ": terms of its memory, and parts; accepted: one of them");
    }
    const Result<void> parting = checkParting(*device.parting, what);
    if (!parting) return parting;
  }
  const Result<void> rows = checkRows(who, node);
  if (!rows) return rows;
  const Result<void> merits = checkMerits(who, node);
  if (!merits) return merits;
  const Result<void> links = checkLinks(who, node, seen);
  return links ? checkNics(who, node) : links;
}

Result<void> checkTarget(const Target& target) {
  if (target.size() > kMaxTargetClasses) {
    return usage("a target of " + std::to_string(target.size()) + " classes; accepted: at most " +
                 std::to_string(kMaxTargetClasses));
  }
  std::uint64_t weight = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const std::string who = "target class " + std::to_string(i);
    const Result<void> amounts = checkAmounts(who, target[i].cpu, Bytes{});
    if (!amounts) return amounts;
    const Result<void> request =
        checkDeviceRequest(who, {target[i].count, Bytes{}, target[i].compute});
    if (!request) return request;
    weight += target[i].weight;
  }
  if (weight > kMaxTargetWeight) {
    return usage("weights of the target add up to " + std::to_string(weight) +
                 "; accepted: at most " + std::to_string(kMaxTargetWeight));
  }
  return {};
}

}  // namespace divvy::engine
