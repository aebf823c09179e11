// A shape prepared for many decisions: sums are computed once, names are resolved once for each
// model.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/config.h"
#include "engine/request.h"
#include "engine/target.h"
#include "nodes/hot_state.h"

namespace divvy::engine {

inline constexpr KindId kNoKind = 0xffff;
inline constexpr std::size_t kMainDemand = SIZE_MAX;

struct DeviceDemand {
  std::uint32_t count = 0;
  std::int32_t compute = 0;
  std::int64_t bytes = 0;
  std::uint32_t percent = 0;        // of the device's memory; then `bytes` is 0
  std::size_t container = 0;        // index, init containers first
  KindId kind = kAnyKind;           // kNoKind: no device has had that kind so far
  std::size_t other = kMainDemand;  // index in the container's `others`
  std::optional<DeviceMemory> guarantee = {};
  bool context_outside = false;
  bool unswappable = false;
  bool mutex = false;            // DevicePolicy::mutex
  bool keeps_off = false;        // no other tenant may join
  bool part = false;             // asks for a partition
  bool again = false;            // equal to the ask before it
  std::uint16_t not_beside = 0;  // sorts of tenants that it excludes; a bit each
};

class ShapeClass {
 public:
  // Requires checkShape(shape). `config` completes what the shape leaves open.
  ShapeClass(Shape shape, const Config& config);

  const Shape& shape() const { return shape_; }
  Policy policy() const { return policy_; }
  const DevicePolicy& devices() const { return devices_; }
  const Weights& weights() const { return weights_; }
  // The pool that the devices must be in; empty: devices without a pool.
  PoolName pool() const { return shape_.pool.value_or(PoolName()); }
  bool hami() const { return hami_; }
  // Returns true if peaks of devices count; then Shape::daily is set.
  bool byDay() const { return by_day_; }
  const UsageByHourPolicy& daily() const { return daily_; }
  // Returns true if rules apply to devices that are taken together.
  bool grouped() const { return grouped_; }
  // Returns true if any fitting devices do; the order is by tightness or by the node's policy.
  bool plain() const { return !grouped_ && devices_.order == DeviceOrder::kTightest; }
  std::int64_t cpu() const { return cpu_; }
  std::int64_t memory() const { return memory_; }
  // Asks of containers that request devices: init() those of init containers that end, containers()
  // of sidecars and then of the others.
  const std::vector<DeviceDemand>& init() const { return init_; }
  const std::vector<DeviceDemand>& containers() const { return containers_; }
  // Returns true if some of containers() run while one of init() does.
  bool staged() const { return staged_; }
  // For asks of containers(): returns true if it is of a sidecar that starts before that init
  // container.
  static bool before(const DeviceDemand& demand, std::size_t init) {
    return demand.container < init;
  }
  // Returns true if at most one container asks for devices, no init container that ends does, and
  // none asks for partitions.
  bool simple() const { return init_.empty() && containers_.size() <= 1 && !parts_; }
  // Returns true if an ask is for partitions in hardware.
  bool parts() const { return parts_; }
  // The most compute of all devices at any time, in thousandths; kind() is its class for
  // clustering.
  std::int64_t compute() const { return compute_; }
  std::uint8_t kind() const { return kind_; }
  // The least number of different devices that it needs.
  std::uint32_t widest() const { return widest_; }

  // Reads models that are new. Must be called before verdict().
  void learn(const std::vector<Model>& models);
  // Returns kOpen or a DeviceWhy.
  std::uint8_t verdict(ModelId model) const { return verdicts_[model]; }
  bool namesDevices() const { return names_devices_; }
  std::uint8_t verdict(const Device& device) const;
  // Returns the request that the ask comes from.
  const DeviceRequest& requestOf(const DeviceDemand& demand) const;
  // Returns true if the devices of one ask of that container may be of different kinds.
  bool mixes(std::size_t container) const;
  // Returns the colocation rule for that kind. Null: no rule.
  const ColocationRule* companyOf(const DeviceKind& kind) const;
  // Returns true if that container (init containers first) asks for devices of that kind, or for
  // partitions of them.
  bool requests(std::size_t container, const DeviceKind& kind, bool parts) const;

 private:
  void addUp();
  const Container& containerOf(const DeviceDemand& demand) const;
  template <typename Is>
  bool anyOf(std::size_t container, const Is& is) const;
  std::uint8_t judge(const Model& model) const;
  const Selector& selectorOf(const DeviceKind& kind) const;

  Shape shape_;
  Policy policy_;
  DevicePolicy devices_;
  Weights weights_;
  bool hami_;
  UsageByHourPolicy daily_;
  bool by_day_;
  bool grouped_;
  std::int64_t cpu_ = 0, memory_ = 0, compute_ = 0;
  std::vector<DeviceDemand> init_, containers_;
  std::uint32_t widest_ = 0;
  std::uint8_t kind_ = 0;
  bool names_devices_ = false;
  bool parts_ = false;
  bool staged_ = false;
  std::vector<std::uint8_t> verdicts_;  // by model
};

// Returns true if use by hour affects decisions.
bool considersUsageByHour(const Config& config);

// kUsage: the message names what is accepted.
Result<void> checkShape(const Shape& shape);
Result<void> checkNode(const Node& node);
Result<void> checkTerms(const std::string& who, const OvercommitPolicy& terms);
Result<void> checkTarget(const Target& target);

// Sorts of tenants that the rule excludes, a bit each. Null: none.
inline std::uint16_t notBeside(const ColocationRule* company) {
  return company == nullptr ? 0 : static_cast<std::uint16_t>(~company->beside);
}

inline std::int64_t percentOf(std::int64_t total, std::uint32_t percent) {
  return total / 100 * percent + total % 100 * percent / 100;
}
// Returns the bytes that `demand` takes of a device with so much memory.
inline std::int64_t bytesOf(const DeviceDemand& demand, std::int64_t total) {
  return demand.percent == 0 ? demand.bytes : percentOf(total, demand.percent);
}
// The memory that `demand` takes of a device with memory terms, and its guarantee.
Part partOf(const DeviceDemand& demand, const MemoryAccounts& accounts);
std::optional<Bytes> guaranteeOf(const DeviceDemand& demand, const MemoryAccounts& accounts);

}  // namespace divvy::engine
