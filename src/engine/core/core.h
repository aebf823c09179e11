// State and operations of an engine. Private. Not thread-safe.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/engine.h"
#include "nodes/pools.h"
#include "score/score_cache.h"

namespace divvy::engine {

// Hash and equality of names and of their text, so that a text finds its name without a copy.
struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
  template <typename Kind>
  std::size_t operator()(const Name<Kind>& name) const {
    return (*this)(name.text);
  }
};
struct NameEqual {
  using is_transparent = void;
  template <typename Kind>
  static std::string_view textOf(const Name<Kind>& name) {
    return name.text;
  }
  static std::string_view textOf(std::string_view text) { return text; }
  bool operator()(const auto& a, const auto& b) const { return textOf(a) == textOf(b); }
};

class Engine::Core {
 public:
  explicit Core(Config config) : config_(config) {}

  Result<void> setNode(const Node& node);
  std::vector<Allocation> removeNode(const NodeName& name);
  Result<void> setTarget(const Target& target);
  Result<std::vector<FormerPoolTenant>> setPools(std::vector<Pool> pools);
  const std::vector<Pool>& pools() const { return pools_.all(); }
  Result<PoolName> poolOf(const NodeName& node, const DeviceUuid& device) const;

  Result<Decision> decide(const Request& request);
  Result<Decision> decideWithin(const Request& request, Window& window);
  Result<Decision> decideAmong(const Request& request, std::span<const NodeName> nodes);
  Result<Decision> explain(const Request& request);
  Result<std::vector<CompactRefusal>> compactRefusals(const Request& request);
  Result<CompactRefusals> compactRefusals(const Request& request,
                                          std::span<const std::string_view> nodes);
  Result<std::vector<DeviceRefusal>> refusedDevices(const Request& request, const NodeName& node,
                                                    std::size_t container) const;
  Result<std::vector<Remedy>> remedies(const Request& request, const NodeName& node);
  Result<bool> possible(const Request& request);
  std::vector<NodeName> nodes() const;

  Result<Allocation> place(const Request& request, Instant expires, Window* window);
  Result<std::optional<Preemption>> preempt(const Request& request, std::int64_t priority,
                                            const EvictionCosts& costs);
  Result<std::optional<GangPreemption>> preemptGang(const Gang& gang, std::int64_t priority,
                                                    const EvictionCosts& costs);
  Result<DefragmentationPlan> defragment(const DefragmentationOptions& terms) const;
  Result<GangPlacement> placeGang(const Gang& gang, Instant expires);
  Result<Allocation> reserve(const Request& request, const Placement& placement, Instant expires);
  Result<void> confirm(const RequestId& id);
  bool release(const RequestId& id);
  std::vector<Allocation> expire(Instant now);
  Result<void> adopt(const Allocation& allocation);
  Result<void> resize(const RequestId& id, const Placement& placement);

  const Allocation* find(const RequestId& id) const;
  std::vector<Allocation> allocations() const;
  Usage usage() const;
  Result<std::vector<DeviceUsed>> used(const NodeName& node) const;

  // Gives the next query a budget of `tries` searches. Does nothing while a BudgetScope lives.
  Core* granted(std::uint32_t tries) {
    if (scopes_ == 0) budget_.refill(tries);
    return this;
  }
  void enterScope() {
    granted(kTriesOfDecision);
    ++scopes_;
  }
  void leaveScope() { --scopes_; }
  // While one lives, bookings are trials that are taken back. Scores of other shapes are not
  // updated after each booking.
  class Trial {
   public:
    explicit Trial(Core& core) : core_(core) { ++core_.trials_; }
    ~Trial() { --core_.trials_; }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

   private:
    Core& core_;
  };
  std::uint64_t tries() const { return budget_.total(); }

 private:
  struct BookedRequest {
    Allocation allocation;
    Slot slot = 0;
    Shape shape;  // the request; empty for an adopted allocation
    bool asked = false;
  };
  using AllocationTable = std::unordered_map<RequestId, BookedRequest, NameHash, NameEqual>;

  friend class ReplicaCounter;
  class ReplicaSearch;
  class GangPlacer;
  class VictimSearch;
  class GangVictimSearch;
  std::vector<RequestId> allocatedIds() const;
  Result<void> checkMoves(const DefragmentationOptions& terms) const;
  Result<void> checkGang(const Gang& gang);
  std::vector<FormerPoolTenant> formerPoolTenants() const;
  void describe(Slot slot, const Node& node);
  Result<Scores*> upToDate(const Request& request);
  Result<ShapeClass> classOf(const Request& request) const;
  std::optional<Change> otherPool(const Request& request, Slot slot);
  Decision decided(const Request& request, Scores& scores, const std::vector<Slot>& fitting);
  Decision at(const Request& request, Scores& scores, Slot slot);
  std::uint64_t drawFor(const Request& request, std::uint64_t salt) const;
  Slot randomSlot(const Request& request, const Scores& scores) const;

  Result<void> checkAlone(Slot slot, const Placement& placement) const;
  const Allocation& addAllocation(BookedRequest booked);
  void removeAllocation(AllocationTable::iterator at);
  Result<void> checkRoom(Slot slot, const Placement& placement) const;
  Result<void> checkRules(Slot slot, const Request& request, const Placement& placement);
  const BookedRequest* held(const Request& request) const;
  void changed(Slot slot);
  void count(Slot slot, int sign);
  void tidy(Slot changed);
  void learnModels();

  Config config_;
  Pools pools_;
  std::map<NodeName, Node> described_;  // nodes as described, for those that their pools change
  HotState state_;
  FragmentTable fragments_;
  Scorer scorer_{state_, fragments_};
  NodeOrder order_;
  ChangeLog log_;
  ScoreCache cache_;
  SearchBudget budget_;
  unsigned scopes_ = 0;
  unsigned trials_ = 0;
  std::unordered_map<NodeName, Slot, NameHash, NameEqual> slots_;
  std::vector<std::set<RequestId>> on_;  // by slot
  AllocationTable allocations_;
  std::set<std::pair<Instant, RequestId>> expiring_;
  std::size_t models_learned_ = 0;
  std::int64_t capacity_ = 0, used_ = 0, idle_ = 0;
  std::int64_t fragment_ = 0;
};

}  // namespace divvy::engine
