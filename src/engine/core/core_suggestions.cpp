// Suggestions: the smallest changes of a request with which it fits one node.
#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

#include "core/core.h"
#include "fit/fit.h"
#include "fit/plan.h"
#include "nodes/amounts.h"

namespace divvy::engine {
namespace {

constexpr std::array<ChangeKind, 8> kAmounts{
    ChangeKind::kDeviceMemory, ChangeKind::kDevicePercent,
    ChangeKind::kCompute,      ChangeKind::kDevices,
    ChangeKind::kCpu,          ChangeKind::kMemory,
    ChangeKind::kGuarantee,    ChangeKind::kGuaranteePercent};
constexpr std::array<ChangeKind, 4> kParts{ChangeKind::kNotMutex, ChangeKind::kNotNumaStrict,
                                           ChangeKind::kNotLinkStrict, ChangeKind::kNotNic};
// Sets of names tried for one kind; beyond that none is suggested.
constexpr std::uint32_t kMaxSets = 4096;

bool aboutDevices(ChangeKind kind) {
  return kind != ChangeKind::kCpu && kind != ChangeKind::kMemory;
}

std::uint64_t leastOf(ChangeKind kind) {
  return !aboutDevices(kind) || kind == ChangeKind::kGuarantee ? 0 : 1;
}

// Each once, in their order.
template <typename Items, typename NameOf>
std::vector<std::string> namesOf(const Items& items, NameOf nameOf) {
  std::vector<std::string> names;
  for (const auto& item : items) {
    const std::string& name = nameOf(item);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

class Search {
 public:
  // `asked`: the request's shape with all defaults filled in.
  Search(const HotState& state, Slot slot, Shape asked, SearchBudget& budget)
      : state_(state), slot_(slot), asked_(std::move(asked)), budget_(budget) {}

  bool fits(const Remedy& remedy) const { return fits(ShapeClass(changed(asked_, remedy), {})); }
  bool fits(ShapeClass shape) const {
    shape.learn(state_.models());
    // Once the budget is spent nothing fits, and no more is suggested.
    if (budget_.spent()) return false;
    budget_.spend(1);
    SearchPass pass(budget_);
    return !refusalOf(state_, shape, slot_, pass);
  }

  std::vector<Remedy> all() const;

 private:
  std::size_t containers() const { return asked_.init.size() + asked_.containers.size(); }
  const Container& container(std::size_t index) const {
    return index < asked_.init.size() ? asked_.init[index]
                                      : asked_.containers[index - asked_.init.size()];
  }
  // The largest amount that fits, with `others` changed too. None: no smaller amount fits.
  std::optional<Change> most(std::size_t index, ChangeKind kind, const DeviceKind& of,
                             const Remedy& others) const;
  std::vector<std::uint64_t> leastsOf(ChangeKind kind, const DeviceRequest& of) const;
  std::optional<Change> fewest(ChangeKind kind, const DeviceKind& of,
                               const std::vector<std::string>& from) const;
  std::optional<Change> without(ChangeKind kind) const;
  void together(std::size_t index, const DeviceRequest& request, std::vector<Remedy>* found) const;
  // For the devices of one kind; empty: for all without a selector of their own.
  void names(const DeviceKind& of, const Selector& selector, std::vector<Remedy>* found) const;

  const HotState& state_;
  const Slot slot_;
  const Shape asked_;
  SearchBudget& budget_;
};

// The minimum amounts that a device accepts: the memory of a context, and the guaranteed memory. In
// units of `kind`, largest first.
std::vector<std::uint64_t> Search::leastsOf(ChangeKind kind, const DeviceRequest& of) const {
  std::set<std::uint64_t, std::greater<>> leasts{leastOf(kind)};
  // Fewer devices may not form a whole block or a run.
  for (std::uint32_t count = 1; kind == ChangeKind::kDevices && count < of.count; ++count)
    if (hasArrangement(state_.cold[slot_].node)) leasts.insert(count);
  const bool percent = kind == ChangeKind::kDevicePercent;
  if (!percent && kind != ChangeKind::kDeviceMemory) return {leasts.begin(), leasts.end()};
  DeviceDemand demand;
  demand.guarantee = of.guarantee;
  for (const Device& device : state_.cold[slot_].node.devices) {
    const MemoryAccounts accounts{device.memory, device.terms, {}, {}, {}, {}};
    const Bytes context = asked_.context_outside ? Bytes{} : device.terms.context;
    const Bytes least = std::max(context, guaranteeOf(demand, accounts).value_or(Bytes{}));
    if (!percent) leasts.insert(std::max<std::uint64_t>(least.count, 1));
    if (!percent || accounts.whole().count == 0) continue;
    const auto whole = static_cast<std::int64_t>(accounts.whole().count);
    std::uint32_t part = 1;
    while (part < 100 && percentOf(whole, part) < static_cast<std::int64_t>(least.count)) ++part;
    leasts.insert(part);
  }
  return {leasts.begin(), leasts.end()};
}

// Between two minimum amounts a smaller amount is never harder to place.
std::optional<Change> Search::most(std::size_t index, ChangeKind kind, const DeviceKind& of,
                                   const Remedy& others) const {
  const Container& from = container(index);
  const std::optional<std::uint64_t> asked = amountOf(from, kind, of);
  const std::uint64_t least = leastOf(kind);
  if (!asked || *asked <= least || (aboutDevices(kind) && requestFor(from, of).count == 0))
    return {};
  Change change{kind, index, *asked, least, {}, aboutDevices(kind) ? of : DeviceKind()};
  const auto good = [&](std::uint64_t value) {
    Remedy remedy = others;
    change.to = value;
    remedy.push_back(change);
    return fits(remedy);
  };
  std::uint64_t high = *asked;  // too much
  for (std::uint64_t low : leastsOf(kind, requestFor(from, of))) {
    if (low >= high) continue;
    if (!good(low)) {
      high = low;
      continue;
    }
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (good(middle) ? low : high) = middle;
    }
    change.to = low;
    return change;
  }
  return {};
}

// Tries sets of one name first, then of two, and so on; sets of one size in the order of `from`.
std::optional<Change> Search::fewest(ChangeKind kind, const DeviceKind& of,
                                     const std::vector<std::string>& from) const {
  std::uint32_t tries = 0;
  for (std::size_t size = 1; size <= from.size(); ++size) {
    std::vector<bool> in(from.size());
    std::fill(in.begin(), in.begin() + static_cast<long>(size), true);
    do {
      if (++tries > kMaxSets) return {};
      Change change{kind, 0, 0, 0, {}, of};
      for (std::size_t i = 0; i < from.size(); ++i)
        if (in[i]) change.names.push_back(from[i]);
      if (fits({change})) return change;
    } while (std::prev_permutation(in.begin(), in.end()));
  }
  return {};
}

std::optional<Change> Search::without(ChangeKind kind) const {
  DevicePolicy policy = asked_.devices.value_or(DevicePolicy{});
  const Change change{kind, 0, 0, 0, {}};
  if (!drop(&policy, kind) || !fits({change})) return {};
  return change;
}

// If no single change helps: the most memory with hardly any compute, then the most compute with
// that.
void Search::together(std::size_t index, const DeviceRequest& request,
                      std::vector<Remedy>* found) const {
  const auto compute = static_cast<std::uint64_t>(request.compute.milli);
  if (request.count == 0) return;
  for (const ChangeKind kind : {ChangeKind::kDeviceMemory, ChangeKind::kDevicePercent}) {
    const Change hardly{ChangeKind::kCompute,          index, compute,
                        leastOf(ChangeKind::kCompute), {},    request.kind};
    if (compute <= hardly.to) continue;
    const std::optional<Change> memory = most(index, kind, request.kind, {hardly});
    if (!memory) continue;
    const std::optional<Change> rest = most(index, ChangeKind::kCompute, request.kind, {*memory});
    if (rest) found->push_back({*memory, *rest});
  }
}

void Search::names(const DeviceKind& of, const Selector& selector,
                   std::vector<Remedy>* found) const {
  const auto addFound = [&](std::optional<Change> change) {
    if (change) found->push_back({std::move(*change)});
  };
  std::vector<Device> devices;
  for (const Device& device : state_.cold[slot_].node.devices) {
    const bool other =
        std::any_of(asked_.by_kind.begin(), asked_.by_kind.end(),
                    [&](const KindSelector& one) { return one.kind == device.kind; });
    if (of.empty() ? !other : of == device.kind) devices.push_back(device);
  }
  const auto text = [](const auto& name) -> const std::string& { return name.text; };
  const auto model = [](const Device& device) -> const std::string& { return device.model.text; };
  const auto uuid = [](const Device& device) -> const std::string& { return device.uuid.text; };
  if (!selector.models.empty()) addFound(fewest(ChangeKind::kModels, of, namesOf(devices, model)));
  if (!selector.uuids.empty()) addFound(fewest(ChangeKind::kUuids, of, namesOf(devices, uuid)));
  addFound(fewest(ChangeKind::kNotModels, of, namesOf(selector.not_models, text)));
  addFound(fewest(ChangeKind::kNotUuids, of, namesOf(selector.not_uuids, text)));
}

std::vector<Remedy> Search::all() const {
  std::vector<Remedy> found;
  const auto requestsOf = [](const Container& one) {
    std::vector<DeviceRequest> requests{one.devices};
    requests.insert(requests.end(), one.others.begin(), one.others.end());
    return requests;
  };
  for (std::size_t index = 0; index < containers(); ++index) {
    const std::vector<DeviceRequest> requests = requestsOf(container(index));
    for (std::size_t k = 0; k < requests.size(); ++k) {
      for (const ChangeKind kind : kAmounts) {
        if (k > 0 && !aboutDevices(kind)) continue;
        const std::optional<Change> change = most(index, kind, requests[k].kind, {});
        if (change) found.push_back({*change});
      }
    }
  }
  names(DeviceKind(), asked_.selector, &found);
  for (const KindSelector& one : asked_.by_kind) names(one.kind, one.selector, &found);
  for (const ChangeKind kind : kParts)
    if (const std::optional<Change> change = without(kind)) found.push_back({*change});
  if (!found.empty()) return found;
  for (std::size_t index = 0; index < containers(); ++index) {
    for (const DeviceRequest& request : requestsOf(container(index)))
      together(index, request, &found);
  }
  return found;
}

}  // namespace

// The first pool with devices that fit the request unchanged; otherwise the devices in no pool.
std::optional<Change> Engine::Core::otherPool(const Request& request, Slot slot) {
  std::set<PoolName> here;
  for (std::size_t i = 0; i < state_.cold[slot].node.devices.size(); ++i)
    here.insert(state_.poolOf(slot, i));
  std::vector<PoolName> names;
  for (const Pool& pool : pools_.all())
    if (pools_.mayUse(request.user, pool)) names.push_back(pool.name);
  if (!pools_.empty()) names.emplace_back();
  const Search search(state_, slot, request.shape, budget_);
  for (const PoolName& name : names) {
    if (here.count(name) == 0) continue;
    const Change change{ChangeKind::kPool, 0, 0, 0, {name.text}};
    const Shape shape = engine::changed(request.shape, {change});
    if (search.fits(ShapeClass(shape, pools_.configFor(shape, config_)))) return change;
  }
  return {};
}

Result<std::vector<Remedy>> Engine::Core::remedies(const Request& request, const NodeName& node) {
  const Result<void> checked = checkShape(request.shape);
  if (!checked) return checked.error();
  Shape made;
  const Result<const Shape*> shape = pools_.shapeFor(request, &made);
  if (!shape) return shape.error();
  const auto known = slots_.find(node);
  if (known == slots_.end())
    return Error{ErrorCode::kNotFound, "no node is called \"" + node.text + "\""};
  Shape asked = **shape;
  asked.devices = asked.devices.value_or(pools_.configFor(asked, config_).devices);
  const Search search(state_, known->second, std::move(asked), budget_);
  if (search.fits(Remedy{})) return std::vector<Remedy>{};
  std::vector<Remedy> found = search.all();
  if (const auto pool = otherPool(request, known->second)) found.push_back({*pool});
  return found;
}

}  // namespace divvy::engine
