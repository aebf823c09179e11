// Pools, as their header says it.
#include <algorithm>

#include "brute.h"

namespace divvy::engine::brute {
namespace {

template <typename One>
bool in(const std::vector<One>& list, const One& one) {
  return std::count(list.begin(), list.end(), one) > 0;
}

bool takes(const Members& members, const Node& node, const Device& device) {
  for (const Label& label : members.labels)
    if (!in(node.labels, label)) return false;
  bool model = members.models.empty();
  for (const ModelName& one : members.models)
    model = model || device.model.text.find(one.text) != std::string::npos;
  return model && (members.nodes.empty() || in(members.nodes, node.name)) &&
         (members.uuids.empty() || in(members.uuids, device.uuid));
}

}  // namespace

void World::apply(Machine* machine) const {
  for (std::size_t i = 0; i < machine->cards.size(); ++i) {
    Card& card = machine->cards[i];
    card.is = machine->is.devices[i];
    card.pool.clear();
    for (const Pool& pool : pools_) {
      if (!takes(pool.members, machine->is, card.is)) continue;
      card.pool = pool.name.text;
      const bool can = card.is.mode != Mode::kMig && card.is.mode != Mode::kExternal;
      if (pool.mode && can) card.is.mode = *pool.mode;
      if (pool.overcommit_permille) card.is.terms.overcommit_permille = *pool.overcommit_permille;
      break;
    }
  }
}

void World::setPools(const std::vector<Pool>& pools) {
  pools_ = pools;
  for (auto& [name, machine] : machines_) apply(&machine);
}

std::optional<Shape> World::pooled(const Request& request) const {
  Shape shape = request.shape;
  for (const Pool& pool : pools_)
    if (!request.shape.pool && in(pool.default_of, request.user)) shape.pool = pool.name;
  if (!shape.pool || shape.pool->empty()) return shape;
  for (const Pool& pool : pools_) {
    if (pool.name != *shape.pool) continue;
    if (!pool.users.empty() && !in(pool.users, request.user)) return std::nullopt;
    if (!shape.devices) shape.devices = pool.devices;
    return shape;
  }
  return std::nullopt;
}

std::string World::mixed() const {
  for (const auto& [name, machine] : machines_) {
    for (const Card& card : machine.cards) {
      int pools = 0;
      for (const auto& [pool, count] : card.given_in) pools += count > 0 ? 1 : 0;
      if (pools > 1) return card.is.uuid.text;
    }
  }
  return "";
}

}  // namespace divvy::engine::brute
