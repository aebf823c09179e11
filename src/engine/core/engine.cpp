#include "engine/engine.h"

#include "core/core.h"

namespace divvy::engine {

Engine::Engine(Config config) : core_(std::make_unique<Core>(config)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Result<void> Engine::setNode(const Node& node) {
  return core_->setNode(node);
}
std::vector<Allocation> Engine::removeNode(const NodeName& name) {
  return core_->removeNode(name);
}
Result<void> Engine::setTarget(const Target& target) {
  return core_->setTarget(target);
}
Result<std::vector<FormerPoolTenant>> Engine::setPools(std::vector<Pool> pools) {
  return core_->setPools(std::move(pools));
}
const std::vector<Pool>& Engine::pools() const {
  return core_->pools();
}
Result<PoolName> Engine::poolOf(const NodeName& node, const DeviceUuid& device) const {
  return core_->poolOf(node, device);
}
Result<Decision> Engine::decide(const Request& request) const {
  return core_->granted(kTriesOfDecision)->decide(request);
}
Result<Decision> Engine::decideWithin(const Request& request, Window& window) const {
  return core_->granted(kTriesOfDecision)->decideWithin(request, window);
}
Result<Decision> Engine::decideAmong(const Request& request,
                                     std::span<const NodeName> nodes) const {
  return core_->granted(kTriesOfDecision)->decideAmong(request, nodes);
}
Result<Decision> Engine::explain(const Request& request) const {
  return core_->granted(kTriesOfDecision)->explain(request);
}
Result<std::vector<CompactRefusal>> Engine::compactRefusals(const Request& request) const {
  return core_->granted(kTriesOfDecision)->compactRefusals(request);
}
Result<CompactRefusals> Engine::compactRefusals(const Request& request,
                                                std::span<const std::string_view> nodes) const {
  return core_->granted(kTriesOfDecision)->compactRefusals(request, nodes);
}
Result<std::vector<DeviceRefusal>> Engine::refusedDevices(const Request& request,
                                                          const NodeName& node,
                                                          std::size_t container) const {
  return core_->refusedDevices(request, node, container);
}
Result<std::vector<Remedy>> Engine::remedies(const Request& request, const NodeName& node) const {
  return core_->granted(kTriesOfDecision)->remedies(request, node);
}
Result<bool> Engine::possible(const Request& request) const {
  return core_->granted(kTriesOfDecision)->possible(request);
}
std::vector<NodeName> Engine::nodes() const {
  return core_->nodes();
}
Result<Allocation> Engine::place(const Request& request, Instant expires) {
  return core_->granted(kTriesOfDecision)->place(request, expires, nullptr);
}
Result<Allocation> Engine::placeWithin(const Request& request, Instant expires, Window& window) {
  return core_->granted(kTriesOfDecision)->place(request, expires, &window);
}
Result<std::optional<Preemption>> Engine::preempt(const Request& request, std::int64_t priority,
                                                  const EvictionCosts& costs) const {
  return core_->granted(kTriesOfGang)->preempt(request, priority, costs);
}
Result<std::optional<GangPreemption>> Engine::preemptGang(const Gang& gang, std::int64_t priority,
                                                          const EvictionCosts& costs) const {
  return core_->granted(kTriesOfGang)->preemptGang(gang, priority, costs);
}
Result<DefragmentationPlan> Engine::defragment(const DefragmentationOptions& terms) const {
  return core_->defragment(terms);
}
Result<GangPlacement> Engine::placeGang(const Gang& gang, Instant expires) {
  return core_->granted(kTriesOfGang)->placeGang(gang, expires);
}
Result<Allocation> Engine::reserve(const Request& request, const Placement& placement,
                                   Instant expires) {
  return core_->granted(kTriesOfDecision)->reserve(request, placement, expires);
}
Result<void> Engine::confirm(const RequestId& id) {
  return core_->confirm(id);
}
bool Engine::release(const RequestId& id) {
  return core_->granted(kTriesOfNode)->release(id);
}
std::vector<Allocation> Engine::expire(Instant now) {
  return core_->granted(kTriesOfNode)->expire(now);
}
Result<void> Engine::resize(const RequestId& id, const Placement& placement) {
  return core_->granted(kTriesOfNode)->resize(id, placement);
}

Result<void> Engine::adopt(const Allocation& allocation) {
  return core_->granted(kTriesOfNode)->adopt(allocation);
}
const Allocation* Engine::find(const RequestId& id) const {
  return core_->find(id);
}
std::vector<Allocation> Engine::allocations() const {
  return core_->allocations();
}
Result<std::vector<DeviceUsed>> Engine::used(const NodeName& node) const {
  return core_->used(node);
}

Engine::BudgetScope::BudgetScope(const Engine& engine) : core_(*engine.core_) {
  core_.enterScope();
}
Engine::BudgetScope::~BudgetScope() {
  core_.leaveScope();
}
std::uint64_t Engine::tries() const {
  return core_->tries();
}

Usage Engine::usage() const {
  return core_->usage();
}

}  // namespace divvy::engine
