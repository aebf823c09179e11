#include "score/node_order.h"

#include "base/rng.h"

namespace divvy::engine {

NodeOrder::NodePosition NodeOrder::placeFor(const Node& node) {
  return {node.order.value_or(stableHash(node.name.text)), node.name};
}

void NodeOrder::add(Slot slot, const Node& node) {
  if (keys_.size() <= slot) keys_.resize(slot + 1);
  keys_[slot] = placeFor(node);
  order_[keys_[slot]] = slot;
  sorted_.reset();
}

void NodeOrder::remove(Slot slot) {
  order_.erase(keys_[slot]);
  sorted_.reset();
}

void NodeOrder::update(Slot slot, const Node& node) {
  if (placeFor(node) == keys_[slot]) return;
  remove(slot);
  add(slot, node);
}

const std::shared_ptr<const NodeOrder::Sorted>& NodeOrder::sorted() const {
  if (sorted_) return sorted_;
  auto sorted = std::make_shared<Sorted>();
  sorted->places.assign(keys_.size(), kNowhere);
  for (const auto& [place, slot] : order_) {
    sorted->places[slot] = static_cast<std::uint32_t>(sorted->slots.size());
    sorted->slots.push_back(slot);
  }
  sorted_ = std::move(sorted);
  return sorted_;
}

void ChangeLog::grow(std::size_t slots) {
  last_.resize(slots);
  std::size_t wanted = ring_.size();
  while (wanted < 2 * slots) wanted *= 2;
  if (wanted == ring_.size()) return;
  std::vector<Slot> ring(wanted);
  const Count kept = std::min<Count>(now_, ring_.size());
  for (Count at = now_ - kept + 1; at <= now_; ++at) ring[at % wanted] = ring_[at % ring_.size()];
  ring_ = std::move(ring);
  // Changes that were dropped before stay dropped: a reader that is so far behind evaluates all
  // nodes.
  forgotten_ = now_ - kept;
}

void ChangeLog::note(Slot slot) {
  last_[slot] = ++now_;
  ring_[now_ % ring_.size()] = slot;
}

}  // namespace divvy::engine
