// Gangs: all members or none, as near to each other as capacity allows.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/gang_placement.h"

namespace divvy::engine {
namespace {

constexpr std::size_t kMaxMembers = 4096;

// Values of the first `count` levels; none: a label is missing.
std::optional<std::vector<std::string>> whereIs(const Node& node,
                                                const std::vector<std::string>& levels,
                                                std::size_t count) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = std::find_if(node.labels.begin(), node.labels.end(),
                                    [&](const Label& each) { return each.key == levels[i]; });
    if (label == node.labels.end()) return std::nullopt;
    values.push_back(label->value);
  }
  return values;
}

// Compute of the requested devices; the largest members are placed first.
std::int64_t weightOf(const Request& request) {
  std::int64_t sum = 0;
  for (const Container& one : request.shape.containers) {
    sum += std::int64_t{one.devices.count} * one.devices.compute.milli;
    for (const DeviceRequest& other : one.others)
      sum += std::int64_t{other.count} * other.compute.milli;
  }
  return sum;
}

}  // namespace

Engine::Core::GangPlacer::GangPlacer(Core& core, const Gang& gang, Instant expires)
    : core_(core), gang_(gang), expires_(expires), order_(gang.members.size()) {
  std::iota(order_.begin(), order_.end(), 0);
  for (const Request& member : gang.members) weight_ += weightOf(member);
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return weightOf(gang.members[a]) > weightOf(gang.members[b]);
  });
}

bool Engine::Core::GangPlacer::placeOn(const Slots& slots, std::size_t level) {
  std::vector<std::size_t> left = order_;
  fill(slots, level, &left);
  most_ = std::max(most_, order_.size() - left.size());
  if (!left.empty()) undo(0);
  return left.empty();
}

Engine::Core::GangPlacer::Domains Engine::Core::GangPlacer::domains(const Slots& slots,
                                                                    std::size_t count,
                                                                    bool all) const {
  Domains found;
  for (const Slot slot : slots) {
    const Node& node = core_.state_.cold[slot].node;
    auto values = whereIs(node, gang_.levels, count);
    if (!values && all) values = std::vector<std::string>{"", node.name.text};
    if (values) found[*values].push_back(slot);
  }
  return found;
}

std::vector<Engine::Core::GangPlacer::Slots> Engine::Core::GangPlacer::whole() const {
  if (!gang_.required) return {core_.order_.slots()};
  std::vector<Slots> all;
  for (auto& [values, slots] : domains(core_.order_.slots(), *gang_.required + 1, false))
    all.push_back(slots);
  return all;
}

std::int64_t Engine::Core::GangPlacer::freeIn(const Slots& slots) const {
  std::int64_t sum = 0;
  for (const Slot slot : slots) sum += core_.state_.node.compute_free[slot];
  return sum;
}

bool Engine::Core::GangPlacer::placeMember(std::size_t member, const Slots& slots) {
  const Request& request = gang_.members[member];
  const Result<Scores*> scores = core_.upToDate(request);
  if (!scores) return false;
  std::vector<Slot> fitting;
  for (const Slot slot : slots)
    if ((*scores)->tree().at(core_.order_.placeOf(slot)) > 0) fitting.push_back(slot);
  Decision decision = core_.decided(request, **scores, fitting);
  if (!decision.fits()) return false;
  const Slot slot = core_.slots_.at(decision.placement->node);
  core_.addAllocation(
      {{request.id, std::move(*decision.placement), expires_}, slot, request.shape, true});
  placed_.push_back(member);
  return true;
}

void Engine::Core::GangPlacer::fillNodes(const Slots& slots, std::vector<std::size_t>* left) {
  std::vector<std::size_t> rest;
  for (const std::size_t member : *left)
    if (!placeMember(member, slots)) rest.push_back(member);
  *left = std::move(rest);
}

// The domain that takes most members goes first; among equals the one with least free compute, then
// by name.
void Engine::Core::GangPlacer::fill(const Slots& slots, std::size_t level,
                                    std::vector<std::size_t>* left) {
  if (level >= gang_.levels.size()) return fillNodes(slots, left);
  Domains open = domains(slots, level + 1, true);
  while (!left->empty() && !open.empty()) {
    auto best = open.end();
    std::tuple<std::size_t, std::int64_t> best_key;
    for (auto at = open.begin(); at != open.end(); ++at) {
      const std::size_t before = placed_.size();
      std::vector<std::size_t> would = *left;
      fill(at->second, level + 1, &would);
      undo(before);
      const std::tuple key{left->size() - would.size(), -freeIn(at->second)};
      if (std::get<0>(key) != 0 && (best == open.end() || key > best_key)) {
        best = at;
        best_key = key;
      }
    }
    if (best == open.end()) return;
    fill(best->second, level + 1, left);
    open.erase(best);
  }
}

// Without regard to narrower levels a placement may exist. If not, most() is the number of members
// that fit.
bool Engine::Core::GangPlacer::regardless(const Tightest& required,
                                          std::vector<std::string>* where) {
  if (!gang_.required) return placeOn(core_.order_.slots());
  for (const auto& [free, domain] : required) {
    const bool roomiest = domain == required.back().second;
    if ((weight_ > free && !roomiest) || !placeOn(domain->second)) continue;
    *where = domain->first;
    return true;
  }
  return false;
}

// Begins at the narrowest level, with the domain that has least free compute.
bool Engine::Core::GangPlacer::place(std::vector<std::string>* where) {
  where->clear();
  const std::size_t widest = gang_.required ? *gang_.required + 1 : 1;
  Domains domains;
  Tightest tightest;
  for (std::size_t count = gang_.levels.size(); count >= widest && count > 0; --count) {
    domains = this->domains(core_.order_.slots(), count, false);
    tightest.clear();
    for (const auto& domain : domains) tightest.emplace_back(freeIn(domain.second), &domain);
    std::stable_sort(tightest.begin(), tightest.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [free, domain] : tightest) {
      if (!within(domain->second, count)) continue;
      *where = domain->first;
      return true;
    }
  }
  if (!gang_.required && within(core_.order_.slots(), 0)) return true;
  return regardless(tightest, where);
}

Result<void> Engine::Core::checkGang(const Gang& gang) {
  const auto usage = [](const std::string& what) { return Error{ErrorCode::kUsage, what}; };
  if (gang.members.empty() || gang.members.size() > kMaxMembers)
    return usage("a gang of " + std::to_string(gang.members.size()) + "; accepted: 1 to " +
                 std::to_string(kMaxMembers));
  if (gang.required && *gang.required >= gang.levels.size())
    return usage("level " + std::to_string(*gang.required) + " is required; accepted: one of the " +
                 std::to_string(gang.levels.size()) + " that are named");
  std::set<RequestId> seen;
  for (const Request& member : gang.members) {
    if (member.id.empty()) return usage("a member without an id");
    if (!seen.insert(member.id).second)
      return usage("member " + member.id.text + " is there twice");
    if (allocations_.count(member.id) != 0)
      return usage("member " + member.id.text + " has a place already");
    if (const Result<void> checked = checkShape(member.shape); !checked)
      return Error(checked.error()).context("member " + member.id.text);
    Shape made;
    if (const auto shape = pools_.shapeFor(member, &made); !shape)
      return Error(shape.error()).context("member " + member.id.text);
  }
  return {};
}

Result<GangPlacement> Engine::Core::placeGang(const Gang& gang, Instant expires) {
  if (const Result<void> checked = checkGang(gang); !checked) return checked.error();
  GangPlacer placer(*this, gang, expires);
  GangPlacement result;
  if (placer.place(&result.where)) {
    for (const Request& member : gang.members)
      result.members.push_back(allocations_.at(member.id).allocation);
    return result;
  }
  const std::string where =
      gang.required ? " of one " + gang.levels[*gang.required] : std::string();
  return Error{ErrorCode::kNoRoom,
               std::to_string(placer.most()) + " of " + std::to_string(gang.members.size()) +
                   " members fit at most on nodes" + where + "; all start together or none"};
}

}  // namespace divvy::engine
