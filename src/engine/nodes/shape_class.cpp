#include "nodes/shape_class.h"

#include <algorithm>
#include <utility>

#include "engine/selection.h"

namespace divvy::engine {
namespace {

using ColocationRules = std::vector<ColocationRule>;

const ColocationRule* companyIn(const ColocationRules& all, const DeviceKind& kind) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const ColocationRule& one) {
    return one.kind.empty() || one.kind == kind;
  });
  return found == all.end() ? nullptr : &*found;
}

// `like` holds what all asks of the shape have in common.
void add(const DeviceRequest& wanted, std::size_t container, std::size_t other,
         const DeviceDemand& like, const ColocationRules& company,
         std::vector<DeviceDemand>* demands) {
  if (wanted.count == 0) return;
  DeviceDemand demand = like;
  demand.count = wanted.count;
  demand.compute = wanted.compute.milli;
  demand.container = container;
  demand.other = other;
  if (const auto* bytes = std::get_if<Bytes>(&wanted.memory)) {
    demand.bytes = static_cast<std::int64_t>(bytes->count);
  } else {
    demand.percent = std::get<Percent>(wanted.memory).value;
  }
  if (!wanted.kind.empty()) demand.kind = kNoKind;
  demand.not_beside = notBeside(companyIn(company, wanted.kind));
  demand.guarantee = wanted.guarantee;
  demand.part = wanted.part.has_value();
  demand.mutex = like.mutex && !demand.part;
  // Several partitions may be on one device, so each is placed on its own.
  const std::uint32_t times = demand.part ? std::exchange(demand.count, 1u) : 1;
  for (std::uint32_t i = 0; i < times; ++i) {
    demand.again = i > 0;
    demands->push_back(demand);
  }
}

std::vector<DeviceDemand> asksOf(const std::vector<Container>& containers, bool sidecars,
                                 std::size_t first, const DeviceDemand& like,
                                 const ColocationRules& company) {
  std::vector<DeviceDemand> demands;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (containers[i].sidecar != sidecars) continue;
    add(containers[i].devices, first + i, kMainDemand, like, company, &demands);
    for (std::size_t k = 0; k < containers[i].others.size(); ++k) {
      add(containers[i].others[k], first + i, k, like, company, &demands);
    }
  }
  return demands;
}

std::uint8_t kindOf(std::uint32_t devices, std::int64_t compute) {
  if (devices == 0) return 0;
  if (compute < std::int64_t{devices} * kWholeDevice.milli) return 1;
  return static_cast<std::uint8_t>(std::min<std::size_t>(1 + devices, kKinds - 1));
}

// kBinpack and kSpread are abbreviations of these weights.
Weights weightsOf(Policy policy, const Weights& given) {
  if (policy == Policy::kBinpack) return {1, 1, 1, 1, 0, 0};
  if (policy == Policy::kSpread) return {-1, -1, -1, -1, 0, 0};
  return given;
}

constexpr auto why(DeviceWhy reason) {
  return static_cast<std::uint8_t>(reason);
}

}  // namespace

bool considersUsageByHour(const Config& config) {
  return config.compat == Compat::kNone && (config.daily.ties || config.daily.avoid_above > 0);
}

ShapeClass::ShapeClass(Shape shape, const Config& config)
    : shape_(std::move(shape)),
      policy_(shape_.policy.value_or(config.policy)),
      devices_(shape_.devices.value_or(config.devices)),
      weights_(weightsOf(policy_, shape_.weights.value_or(config.weights))),
      hami_(config.compat == Compat::kHami),
      daily_(config.daily),
      by_day_(shape_.daily && policy_ != Policy::kRandom && considersUsageByHour(config)),
      grouped_(devices_.numa != Preference::kNone || devices_.links != Preference::kNone ||
               !devices_.nic.empty()) {
  if (hami_ && devices_.order == DeviceOrder::kTightest) devices_.order = DeviceOrder::kSpread;
  DeviceDemand like;
  like.context_outside = shape_.context_outside;
  like.unswappable = shape_.unswappable;
  like.mutex = devices_.mutex;
  for (const bool sidecars : {true, false}) {
    const std::vector<DeviceDemand> demands =
        asksOf(shape_.init, sidecars, 0, like, shape_.company);
    (sidecars ? containers_ : init_) = demands;
  }
  const std::vector<DeviceDemand> others =
      asksOf(shape_.containers, false, shape_.init.size(), like, shape_.company);
  containers_.insert(containers_.end(), others.begin(), others.end());
  for (std::vector<DeviceDemand>* demands : {&init_, &containers_})
    for (DeviceDemand& demand : *demands) demand.keeps_off = demand.mutex && !hami_;
  addUp();
  for (const std::vector<DeviceDemand>* demands : {&init_, &containers_}) {
    for (const DeviceDemand& demand : *demands) parts_ |= demand.part;
  }
  const auto names = [](const Selector& one) {
    return !one.uuids.empty() || !one.not_uuids.empty();
  };
  names_devices_ = names(shape_.selector);
  for (const KindSelector& one : shape_.by_kind) names_devices_ |= names(one.selector);
}

// The maximum at any time: each init container with the sidecars before it; in the end all sidecars
// with the other containers.
void ShapeClass::addUp() {
  const auto bytes = [](const Container& one) {
    return static_cast<std::int64_t>(one.memory.count);
  };
  std::int64_t cpu = 0, memory = 0;
  for (const Container& one : shape_.init) {
    cpu_ = std::max(cpu_, cpu + one.cpu.milli);
    memory_ = std::max(memory_, memory + bytes(one));
    if (!one.sidecar) continue;
    cpu += one.cpu.milli;
    memory += bytes(one);
  }
  for (const Container& one : shape_.containers) {
    cpu += one.cpu.milli;
    memory += bytes(one);
  }
  cpu_ = std::max(cpu_, cpu);
  memory_ = std::max(memory_, memory);
  std::uint32_t together = 0;
  for (const DeviceDemand& demand : containers_) {
    compute_ += std::int64_t{demand.count} * demand.compute;
    together += demand.count;
    widest_ = std::max(widest_, demand.count);
  }
  for (const DeviceDemand& demand : init_) {
    std::uint32_t count = demand.count;
    std::int64_t compute = std::int64_t{demand.count} * demand.compute;
    for (const DeviceDemand& other : containers_) {
      if (!before(other, demand.container)) continue;
      staged_ = true;
      count += other.count;
      compute += std::int64_t{other.count} * other.compute;
    }
    compute_ = std::max(compute_, compute);
    together = std::max(together, count);
    widest_ = std::max(widest_, demand.count);
  }
  kind_ = engine::kindOf(together, compute_);
}

const Selector& ShapeClass::selectorOf(const DeviceKind& kind) const {
  for (const KindSelector& one : shape_.by_kind) {
    if (one.kind == kind) return one.selector;
  }
  return shape_.selector;
}

const Container& ShapeClass::containerOf(const DeviceDemand& demand) const {
  const std::size_t init = shape_.init.size();
  return demand.container < init ? shape_.init[demand.container]
                                 : shape_.containers[demand.container - init];
}

const ColocationRule* ShapeClass::companyOf(const DeviceKind& kind) const {
  return companyIn(shape_.company, kind);
}

const DeviceRequest& ShapeClass::requestOf(const DeviceDemand& demand) const {
  const Container& container = containerOf(demand);
  return demand.other == kMainDemand ? container.devices : container.others[demand.other];
}

template <typename Is>
bool ShapeClass::anyOf(std::size_t container, const Is& is) const {
  const auto any = [&](const std::vector<DeviceDemand>& demands) {
    return std::any_of(demands.begin(), demands.end(), [&](const DeviceDemand& demand) {
      return demand.container == container && is(demand);
    });
  };
  return any(init_) || any(containers_);
}

bool ShapeClass::mixes(std::size_t container) const {
  return anyOf(container,
               [&](const DeviceDemand& demand) { return requestOf(demand).kind.empty(); });
}

bool ShapeClass::requests(std::size_t container, const DeviceKind& kind, bool parts) const {
  return anyOf(container, [&](const DeviceDemand& demand) {
    return demand.part == parts &&
           (requestOf(demand).kind.empty() || requestOf(demand).kind == kind);
  });
}

std::optional<Bytes> guaranteeOf(const DeviceDemand& demand, const MemoryAccounts& accounts) {
  if (!demand.guarantee) return std::nullopt;
  if (const auto* bytes = std::get_if<Bytes>(&*demand.guarantee)) return *bytes;
  const auto whole = static_cast<std::int64_t>(accounts.whole().count);
  return Bytes{
      static_cast<std::uint64_t>(percentOf(whole, std::get<Percent>(*demand.guarantee).value))};
}

Part partOf(const DeviceDemand& demand, const MemoryAccounts& accounts) {
  const auto whole = static_cast<std::int64_t>(accounts.whole().count);
  const Bytes limit{static_cast<std::uint64_t>(bytesOf(demand, whole))};
  if (demand.unswappable) return partOn(accounts, limit, limit, demand.context_outside);
  return partOn(accounts, limit, guaranteeOf(demand, accounts), demand.context_outside);
}

std::uint8_t ShapeClass::judge(const Model& model) const {
  if (model.pool != pool()) return why(DeviceWhy::kNotInPool);
  const Selector& selector = selectorOf(model.kind);
  if (namesModel(selector.not_models, selector.match, model.name)) {
    return why(DeviceWhy::kModelExcluded);
  }
  if (!selector.models.empty() && !namesModel(selector.models, selector.match, model.name)) {
    return why(DeviceWhy::kModelNotAsked);
  }
  return kOpen;
}

void ShapeClass::learn(const std::vector<Model>& models) {
  while (verdicts_.size() < models.size()) {
    const Model& model = models[verdicts_.size()];
    verdicts_.push_back(judge(model));
    for (std::vector<DeviceDemand>* demands : {&init_, &containers_}) {
      for (DeviceDemand& demand : *demands) {
        if (demand.kind == kNoKind && requestOf(demand).kind == model.kind)
          demand.kind = model.kind_id;
      }
    }
  }
}

std::uint8_t ShapeClass::verdict(const Device& device) const {
  const Selector& selector = selectorOf(device.kind);
  const auto names = [&](const std::vector<DeviceUuid>& list) {
    return namesDevice(list, selector.uuid_match, device.uuid);
  };
  if (names(selector.not_uuids)) return why(DeviceWhy::kUuidExcluded);
  if (!selector.uuids.empty() && !names(selector.uuids)) {
    return why(DeviceWhy::kUuidNotAsked);
  }
  return kOpen;
}

}  // namespace divvy::engine
