#include "core/layout_sandbox.h"

namespace divvy::engine {
namespace {

constexpr Instant kNever{INT64_MAX};

void change(std::set<RequestId>* who, const RequestId& id, int sign, std::int64_t* idle) {
  if (who->empty()) --*idle;
  if (sign > 0) {
    who->insert(id);
  } else {
    who->erase(id);
  }
  if (who->empty()) ++*idle;
}

}  // namespace

// Results are ignored: the engine that the layout was copied from has checked the same values.
LayoutSandbox::LayoutSandbox(const Layout& layout) : engine_(layout.config) {
  static_cast<void>(engine_.setTarget(layout.target));
  static_cast<void>(engine_.setPools(layout.pools));
  for (const Node& node : layout.nodes) {
    static_cast<void>(engine_.setNode(node));
    described_[node.name] = nodes_[node.name] = node;
    on_nodes_[node.name];
    ++idle_nodes_;
    for (const Device& device : node.devices) {
      on_devices_[{node.name, device.uuid}];
      ++idle_devices_;
    }
  }
  for (const Allocation& allocation : layout.there) put(allocation);
}

// Charges on devices that the node no longer has are not counted.
void LayoutSandbox::count(const Placement& placement, const RequestId& id, int sign) {
  change(&on_nodes_.at(placement.node), id, sign, &idle_nodes_);
  for (const Charge& charge : placement.charges) {
    const auto at = on_devices_.find({placement.node, charge.uuid});
    if (at != on_devices_.end()) change(&at->second, id, sign, &idle_devices_);
  }
}

void LayoutSandbox::close(const DeviceAt& at, bool closed) {
  const Node& was = described_.at(at.node);
  Node& node = nodes_.at(at.node);
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    if (node.devices[i].uuid == at.uuid)
      node.devices[i].cordoned = closed || was.devices[i].cordoned;
  static_cast<void>(engine_.setNode(node));
}

void LayoutSandbox::close(const NodeName& name, bool closed) {
  Node& node = nodes_.at(name);
  node.cordoned = closed || described_.at(name).cordoned;
  static_cast<void>(engine_.setNode(node));
}

Allocation LayoutSandbox::remove(const RequestId& id) {
  const auto at = at_.find(id);
  Allocation allocation = std::move(at->second);
  at_.erase(at);
  engine_.release(id);
  count(allocation.placement, id, -1);
  return allocation;
}

void LayoutSandbox::put(const Allocation& allocation) {
  static_cast<void>(engine_.adopt(allocation));
  at_[allocation.id] = allocation;
  count(allocation.placement, allocation.id, 1);
}

std::optional<Placement> LayoutSandbox::decide(const Request& request) const {
  Result<Decision> decision = engine_.decide(request);
  if (!decision) return std::nullopt;
  return std::move(decision->placement);
}

bool LayoutSandbox::move(const Request& request, const Placement& to) {
  const Allocation before = remove(request.id);
  if (!engine_.reserve(request, to, kNever)) {
    put(before);
    return false;
  }
  engine_.release(request.id);
  put({request.id, to, before.expires});
  return true;
}

std::size_t LayoutSandbox::fits(const Shape& shape, std::size_t most) {
  std::vector<RequestId> placed;
  while (placed.size() < most) {
    const RequestId id(std::string("\x01room ") + std::to_string(placed.size()));
    if (!engine_.place({id, shape}, kNever)) break;
    placed.push_back(id);
  }
  for (const RequestId& id : placed) engine_.release(id);
  return placed.size();
}

}  // namespace divvy::engine
