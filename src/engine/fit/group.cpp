#include "fit/group.h"

#include <algorithm>
#include <utility>

namespace divvy::engine {
namespace {

constexpr unsigned kFew = 16;  // up to so many devices all groups are tried

// Number of groups of `count` devices; counts to `most` + 1 at most.
std::uint64_t groupsOf(unsigned devices, unsigned count, std::uint64_t most) {
  std::uint64_t all = 1;
  for (unsigned i = 0; i < std::min(count, devices - count); ++i) {
    all = all * (devices - i) / (i + 1);
    if (all > most) return most + 1;
  }
  return all;
}

}  // namespace

// The search for one ask.
class Groups::Search {
 public:
  // Only the first `rules` rules apply.
  Search(const Groups& groups, std::size_t rules, const DeviceList& from, unsigned count)
      : groups_(groups), rules_(rules), from_(from), count_(count) {
    for (unsigned position = from.count; position-- > 0;) {
      const unsigned device = from.at[position];
      mates_[device] = groups.mates(device, rules);
      after_[position] = (position + 1 < from.count ? after_[position + 1] : 0) | only(device);
      if ((mates_[device] & only(device)) != 0) open_ |= only(device);
    }
  }

  // Tries all groups, or stops at the first one, with a bound on tries.
  void exhaust() { explore(0, 0, open_); }
  void first() {
    first_only_ = true;
    explore(0, 0, open_);
  }
  // Grows a group from each device, then improves the best one by exchanges.
  void grow();
  bool few() const {
    return from_.count <= kFew || groupsOf(from_.count, count_, kMaxGroups) <= kMaxGroups;
  }

  GroupChoice found() const { return {best_.group, !best_.group && gave_up_, looked_}; }

 private:
  using Score = std::array<std::int64_t, kMaxRules>;
  struct ScoredGroup {
    std::optional<DeviceSet> group;
    Score score{};
  };

  Score scoreOf(DeviceSet group) const {
    Score score{};
    for (std::size_t i = 0; i < rules_; ++i) score[i] = groups_.rules_[i]->score(group);
    return score;
  }
  bool allows(DeviceSet group) const {
    const auto allow = [&](const auto& rule) { return rule->allows(group); };
    return std::all_of(groups_.rules_.begin(), groups_.rules_.begin() + static_cast<long>(rules_),
                       allow);
  }
  bool perfect() const {
    for (std::size_t i = 0; i < rules_; ++i)
      if (best_.score[i] < groups_.rules_[i]->most(count_)) return false;
    return true;
  }
  DeviceSet openTo(DeviceSet group) const {
    DeviceSet open = open_;
    for (; group != 0; group &= group - 1) open &= mates_[firstOf(group)];
    return open;
  }
  // Keeps the group if it is the best so far; among equals the first stays.
  bool consider(DeviceSet group) {
    if (!allows(group)) return false;
    const Score score = scoreOf(group);
    if (best_.group && score <= best_.score) return false;
    best_ = {group, score};
    return true;
  }
  bool explore(unsigned position, DeviceSet group, DeviceSet open);
  std::optional<DeviceSet> grownFrom(unsigned device);
  bool exchange();

  const Groups& groups_;
  const std::size_t rules_;
  const DeviceList& from_;
  const unsigned count_;
  std::array<DeviceSet, kMaxDevicesPerNode> mates_{};
  std::array<DeviceSet, kMaxDevicesPerNode> after_{};  // by position: the devices from there on
  DeviceSet open_ = 0;
  ScoredGroup best_;
  std::uint32_t tries_ = 0;
  std::uint32_t looked_ = 0;
  bool first_only_ = false;
  bool gave_up_ = false;
};

// Tries groups with `group` and devices from `position` on. Returns true to stop.
bool Groups::Search::explore(unsigned position, DeviceSet group, DeviceSet open) {
  const unsigned left = count_ - sizeOf(group);
  if (left == 0) return consider(group) && (first_only_ || perfect());
  for (; position < from_.count; ++position) {
    if (sizeOf(open & after_[position]) < left) return false;
    const unsigned device = from_.at[position];
    if ((open & only(device)) == 0) continue;
    ++looked_;
    if (first_only_ && ++tries_ > kMaxGroupTries) {
      gave_up_ = true;
      return true;
    }
    if (explore(position + 1, group | only(device), open & mates_[device])) return true;
  }
  return false;
}

// Adds the device with the highest score until the group is complete.
std::optional<DeviceSet> Groups::Search::grownFrom(unsigned device) {
  DeviceSet group = only(device);
  DeviceSet open = open_ & mates_[device] & ~group;
  while (sizeOf(group) < count_) {
    std::optional<unsigned> next;
    Score next_score{};
    for (unsigned position = 0; position < from_.count; ++position) {
      const unsigned i = from_.at[position];
      const unsigned needed = count_ - sizeOf(group) - 1;
      if ((open & only(i)) == 0 || sizeOf(open & mates_[i] & ~only(i)) < needed) continue;
      ++tries_;
      const Score score = scoreOf(group | only(i));
      if (next && score <= next_score) continue;
      next = i;
      next_score = score;
    }
    if (!next) return std::nullopt;
    group |= only(*next);
    open &= mates_[*next] & ~group;
  }
  return group;
}

// Exchanges one device of the best group. Returns true if that is better.
bool Groups::Search::exchange() {
  const DeviceSet best = *best_.group;
  for (unsigned out = 0; out < from_.count; ++out) {
    if ((best & only(from_.at[out])) == 0) continue;
    const DeviceSet rest = best & ~only(from_.at[out]);
    const DeviceSet open = openTo(rest) & ~best;
    for (unsigned in = 0; in < from_.count; ++in) {
      if ((open & only(from_.at[in])) == 0) continue;
      ++looked_;
      if (++tries_ > kMaxGroupTries) return false;
      if (consider(rest | only(from_.at[in]))) return true;
    }
  }
  return false;
}

void Groups::Search::grow() {
  tries_ = 0;
  // Half of the tries are for growing, the others for exchanges. If they do not suffice to start
  // from each device, it starts from every second, third, and so on.
  const std::uint32_t starts = std::max(kMaxGroupTries / 2 / (count_ * from_.count), 1u);
  const unsigned step = (from_.count + starts - 1) / starts;
  for (unsigned position = 0; position < from_.count; position += step) {
    if (best_.group && perfect()) break;
    if ((open_ & only(from_.at[position])) == 0) continue;
    if (const std::optional<DeviceSet> group = grownFrom(from_.at[position])) consider(*group);
  }
  while (best_.group && !perfect() && exchange()) {
  }
}

Groups::Groups(Rules rules) : rules_(std::move(rules)) {
  rules_.resize(std::min(rules_.size(), kMaxRules));
}

DeviceSet Groups::mates(unsigned device, std::size_t rules) const {
  DeviceSet mates = ~DeviceSet{0};
  for (std::size_t i = 0; i < rules; ++i) mates &= rules_[i]->mates(device);
  return mates;
}

Groups::GroupChoice Groups::best(const DeviceList& from, unsigned count) const {
  if (count == 0 || count > from.count) return {};
  Search search(*this, rules_.size(), from, count);
  if (search.few()) {
    search.exhaust();
  } else {
    search.first();
    search.grow();
  }
  return search.found();
}

bool Groups::good(DeviceSet group) const {
  for (DeviceSet left = group; left != 0; left &= left - 1)
    if ((group & ~mates(firstOf(left))) != 0) return false;
  return std::all_of(rules_.begin(), rules_.end(),
                     [&](const auto& rule) { return rule->allows(group); });
}

unsigned Groups::met(DeviceSet group) const {
  return static_cast<unsigned>(std::count_if(rules_.begin(), rules_.end(),
                                             [&](const auto& rule) { return rule->met(group); }));
}

bool Groups::possible(const DeviceList& from, unsigned count, std::size_t rules,
                      bool* gave_up) const {
  if (count > from.count) return false;
  Search search(*this, rules, from, count);
  search.first();
  const GroupChoice found = search.found();
  *gave_up = *gave_up || found.gave_up;
  return found.group.has_value();
}

NodeRefusal Groups::refusal(const DeviceList& from, unsigned count) const {
  NodeRefusal refusal;
  refusal.why = NodeWhy::kUnresolved;
  std::size_t rules = 0;
  bool gave_up = false;
  while (rules < rules_.size() && possible(from, count, rules + 1, &gave_up)) ++rules;
  if (gave_up || rules == rules_.size()) return refusal;
  refusal.why = rules_[rules]->why();
  refusal.needed = count;
  for (unsigned fewer = count - 1; fewer > 0; --fewer) {
    if (!possible(from, fewer, rules + 1, &gave_up)) continue;
    refusal.available = fewer;
    break;
  }
  return refusal;
}

}  // namespace divvy::engine
