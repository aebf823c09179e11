#include "deviceplugin/preferred_allocation.h"

#include <algorithm>

#include "kube/assignment.h"

namespace divvy::agent {
namespace {

// Source: facts on the incumbent's control plane, 2.2.
constexpr const char* kAllocated = "hami.io/vgpu-devices-allocated";

std::string cardOf(const std::string& unit) {
  return unit.substr(0, unit.find("::"));
}

// The available device IDs, card by card; each is given once.
class Stock {
 public:
  explicit Stock(const kubelet::PreferredAllocationQuery& ask) : most_(ask.count) {
    for (const std::string& unit : ask.available) left_[cardOf(unit)].push_back(unit);
    for (const std::string& unit : ask.required) take(unit);
  }

  bool full() const { return taken_.size() >= most_; }
  const std::vector<std::string>& cards() const { return cards_; }
  const std::map<std::string, std::vector<std::string>>& left() const { return left_; }

  bool takeOf(const std::string& card) {
    const auto units = left_.find(card);
    if (full() || units == left_.end()) return false;
    take(units->second.front());
    return true;
  }

  std::vector<std::string> give() { return std::move(taken_); }

 private:
  void take(const std::string& unit) {
    cards_.push_back(cardOf(unit));
    taken_.push_back(unit);
    const auto units = left_.find(cards_.back());
    if (units == left_.end()) return;
    std::erase(units->second, unit);
    if (units->second.empty()) left_.erase(units);
  }

  std::size_t most_;
  std::map<std::string, std::vector<std::string>> left_;
  std::vector<std::string> taken_, cards_;
};

std::uint32_t scoreBetween(const kube::DeviceScores& scores, const std::string& a,
                           const std::string& b) {
  const auto found = scores.find(std::minmax(a, b));
  return found == scores.end() ? 0 : found->second;
}

// Adds cards one by one, each the best beside those that are there, and returns the sum over all
// pairs.
std::uint64_t fill(const kube::DeviceScores& scores, Stock* stock) {
  std::uint64_t sum = 0;
  while (!stock->full() && !stock->left().empty()) {
    const std::string* best = nullptr;
    // A card that is there already is no second one.
    std::pair<bool, std::pair<std::uint64_t, std::size_t>> most;
    for (const auto& [card, units] : stock->left()) {
      const auto& there = stock->cards();
      std::uint64_t score = 0;
      for (const std::string& other : there) score += scoreBetween(scores, card, other);
      const bool fresh = std::find(there.begin(), there.end(), card) == there.end();
      const std::pair value{fresh, std::pair{score, units.size()}};
      if (best != nullptr && value <= most) continue;
      best = &card;
      most = value;
    }
    sum += most.second.first;
    stock->takeOf(std::string(*best));
  }
  return sum;
}

// Units of just these cards; none: some have too few left, or others are required.
std::optional<std::vector<std::string>> unitsOn(const std::vector<std::string>& cards,
                                                const kubelet::PreferredAllocationQuery& ask) {
  Stock stock(ask);
  std::vector<std::string> open = cards;
  for (const std::string& card : stock.cards()) {
    const auto place = std::find(open.begin(), open.end(), card);
    if (place == open.end()) return std::nullopt;
    open.erase(place);
  }
  for (const std::string& card : open)
    if (!stock.takeOf(card)) return std::nullopt;
  return stock.give();
}

// By which of them it asks for devices.
std::string nameIn(const kube::PodContainer& container, const std::set<std::string>& resources) {
  for (const std::string& resource : resources)
    if (container.limits.contains(resource)) return resource;
  return {};
}

}  // namespace

std::vector<WaitingContainer> waitingOf(const kube::Pod& pod,
                                        const std::set<std::string>& resources) {
  std::vector<WaitingContainer> waiting;
  const auto written = pod.meta.annotations.find(kAllocated);
  if (pod.phase != kube::PodPhase::kPending || written == pod.meta.annotations.end())
    return waiting;
  const Result<kube::Assignment> assignment = kube::decodeAssignment(written->second);
  if (!assignment) return waiting;
  std::size_t at = 0;
  for (const auto* list : {&pod.init, &pod.containers}) {
    for (const kube::PodContainer& container : *list) {
      if (at >= assignment->size()) return waiting;
      WaitingContainer one{container.name, {}, nameIn(container, resources)};
      for (const kube::AssignedDevice& device : (*assignment)[at++])
        one.cards.push_back(device.uuid);
      if (!one.cards.empty()) waiting.push_back(std::move(one));
    }
  }
  return waiting;
}

std::vector<std::string> unitsByScore(const kubelet::PreferredAllocationQuery& ask,
                                      const kube::DeviceScores& scores) {
  Stock plain(ask);
  // The best choice depends on the first card.
  const auto first = plain.left();
  std::uint64_t most = fill(scores, &plain);
  std::vector<std::string> best = plain.give();
  if (!ask.required.empty() || ask.count < 2) return best;
  for (const auto& [card, units] : first) {
    Stock stock(ask);
    stock.takeOf(card);
    const std::uint64_t sum = fill(scores, &stock);
    if (sum <= most) continue;
    most = sum;
    best = stock.give();
  }
  return best;
}

void PreferredAllocation::waits(const std::string& uid, std::vector<WaitingContainer> containers) {
  const std::lock_guard lock(mutex_);
  if (containers.empty()) {
    pods_.erase(uid);
    return;
  }
  Waiting& pod = pods_[uid];
  if (pod.heard == 0) pod.heard = ++heard_;
  pod.containers = std::move(containers);
}

void PreferredAllocation::forget(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  pods_.erase(uid);
}

void PreferredAllocation::taken(const std::string& uid, std::vector<std::string> units) {
  std::sort(units.begin(), units.end());
  const std::lock_guard lock(mutex_);
  for (auto& [other, pod] : pods_)
    if (other != uid)
      std::erase_if(pod.answered, [&](const auto& one) { return one.second == units; });
}

bool PreferredAllocation::Waiting::asksFor(const WaitingContainer& one, const std::string& resource,
                                           std::size_t count) const {
  return one.resource == resource && one.cards.size() == count && !answered.contains(one.name);
}

bool PreferredAllocation::awaits(const std::string& resource, std::size_t count) {
  const std::lock_guard lock(mutex_);
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& entry) {
    const Waiting& pod = entry.second;
    return std::any_of(
        pod.containers.begin(), pod.containers.end(),
        [&](const WaitingContainer& one) { return pod.asksFor(one, resource, count); });
  });
}

std::optional<std::vector<std::string>> PreferredAllocation::assigned(
    const std::string& resource, const kubelet::PreferredAllocationQuery& ask) {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [uid, pod] : pods_) order.emplace_back(pod.heard, uid);
  std::sort(order.begin(), order.end());
  for (const auto& [time, uid] : order) {
    Waiting& pod = pods_.at(uid);
    for (const WaitingContainer& one : pod.containers) {
      if (!pod.asksFor(one, resource, ask.count)) continue;
      std::optional<std::vector<std::string>> units = unitsOn(one.cards, ask);
      if (!units) continue;
      std::vector<std::string>& answered = pod.answered[one.name];
      answered = *units;
      std::sort(answered.begin(), answered.end());
      return units;
    }
  }
  return std::nullopt;
}

}  // namespace divvy::agent
