// A shape made ready for many decisions: sums done once, names resolved once per model.
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
inline constexpr std::size_t kMainAsk = SIZE_MAX;

struct Ask {
  std::uint32_t count = 0;
  std::int32_t compute = 0;
  std::int64_t bytes = 0;
  std::uint32_t percent = 0;     // of the device's memory; then `bytes` is 0
  std::size_t container = 0;     // which one, init containers first
  KindId kind = kAnyKind;        // kNoKind: one that no device has so far
  std::size_t other = kMainAsk;  // which of the container's others
  std::optional<DeviceMemory> guarantee = {};
  bool context_outside = false;
  bool unswappable = false;
  bool mutex = false;            // DevicePolicy::mutex
  bool keeps_off = false;        // nobody else comes
  bool part = false;             // then of one
  bool again = false;            // as the one before it
  std::uint16_t not_beside = 0;  // sorts of tenants; a bit each
};

class ShapeClass {
 public:
  // `shape` has been checked. What it does not say is as `config` says.
  ShapeClass(Shape shape, const Config& config);

  const Shape& shape() const { return shape_; }
  Policy policy() const { return policy_; }
  const DevicePolicy& devices() const { return devices_; }
  const Weights& weights() const { return weights_; }
  // Whose devices it is about; empty: of those that are in none.
  PoolName pool() const { return shape_.pool.value_or(PoolName()); }
  bool hami() const { return hami_; }
  // Whether peaks of devices count; then Shape::daily says how this one's day goes.
  bool byDay() const { return by_day_; }
  const UsageByHourPolicy& daily() const { return daily_; }
  // Whether there are rules for devices that are taken together.
  bool grouped() const { return grouped_; }
  // Any devices that fit will do; the tightest first, or as the node's policy has it.
  bool plain() const { return !grouped_ && devices_.order == DeviceOrder::kTightest; }
  std::int64_t cpu() const { return cpu_; }
  std::int64_t memory() const { return memory_; }
  // Of containers that ask for devices: init containers that end; all that are there at once in the
  // end, sidecars first.
  const std::vector<Ask>& init() const { return init_; }
  const std::vector<Ask>& containers() const { return containers_; }
  // Some of containers() are there while one of init() is.
  bool staged() const { return staged_; }
  // Of containers(): it is a sidecar that was there before that init container.
  static bool before(const Ask& ask, std::size_t init) { return ask.container < init; }
  // At most one container asks for devices, no init container that ends, and not for parts.
  bool simple() const { return init_.empty() && containers_.size() <= 1 && !parts_; }
  // Some are for parts as the hardware makes them.
  bool parts() const { return parts_; }
  // The most compute of all devices at a time, and what it is called for clustering.
  std::int64_t compute() const { return compute_; }
  std::uint8_t kind() const { return kind_; }
  // Different devices that it needs at least.
  std::uint32_t widest() const { return widest_; }

  // Looks at models that are new; to be called before the others.
  void learn(const std::vector<Model>& models);
  // kOpen, or why not.
  std::uint8_t verdict(ModelId model) const { return verdicts_[model]; }
  bool namesDevices() const { return names_devices_; }
  std::uint8_t verdict(const Device& device) const;
  // Where it comes from.
  const DeviceAsk& wanted(const Ask& ask) const;
  // Whether that container's devices may be of different kinds, all for one ask.
  bool mixes(std::size_t container) const;
  // Of its request for devices of that kind; null: it goes with all.
  const ColocationRule* companyOf(const DeviceKind& kind) const;
  // Whether that container (init containers first) asks for devices of that kind, or parts of them.
  bool asks(std::size_t container, const DeviceKind& kind, bool parts) const;

 private:
  void addUp();
  const Container& containerOf(const Ask& ask) const;
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
  std::vector<Ask> init_, containers_;
  std::uint32_t widest_ = 0;
  std::uint8_t kind_ = 0;
  bool names_devices_ = false;
  bool parts_ = false;
  bool staged_ = false;
  std::vector<std::uint8_t> verdicts_;  // by model
};

// Whether it makes a difference how requests' days go.
bool looksAtDays(const Config& config);

// kUsage says what is accepted.
Result<void> checkShape(const Shape& shape);
Result<void> checkNode(const Node& node);
Result<void> checkTerms(const std::string& who, const MemoryTerms& terms);
Result<void> checkTarget(const Target& target);

// Sorts of tenants, a bit each. Null: none.
inline std::uint16_t notBeside(const ColocationRule* company) {
  return company == nullptr ? 0 : static_cast<std::uint16_t>(~company->beside);
}

inline std::int64_t percentOf(std::int64_t total, std::uint32_t percent) {
  return total / 100 * percent + total % 100 * percent / 100;
}
// What `ask` takes of a device with so much memory.
inline std::int64_t bytesOf(const Ask& ask, std::int64_t total) {
  return ask.percent == 0 ? ask.bytes : percentOf(total, ask.percent);
}
// Likewise, of one with terms.
Part partOf(const Ask& ask, const MemoryAccounts& books);
std::optional<Bytes> guaranteeOf(const Ask& ask, const MemoryAccounts& books);

}  // namespace divvy::engine
