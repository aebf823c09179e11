#include "check.h"

#include <set>

#include "engine/engine.h"

namespace divvy::snapshot {
namespace {

// So much of anything may be held in all: sums of it are exact.
constexpr std::uint64_t kMaxHeld = 1ull << 60;
constexpr std::size_t kMaxHolders = 1u << 20;

struct HeldSums {
  Bytes bytes;
  Bytes cpu;  // thousandths; adds without wrapping
  std::size_t holders = 0;

  bool isValid() const {
    return bytes.count <= kMaxHeld && cpu.count <= kMaxHeld && holders <= kMaxHolders;
  }
  void add(const engine::Placement& placement) {
    ++holders;
    bytes = bytes + placement.memory;
    cpu = cpu + Bytes{static_cast<std::uint64_t>(placement.cpu.milli)};
    for (const engine::Charge& charge : placement.charges) bytes = bytes + charge.memory;
  }
};

// Follows a snapshot through an engine of its own.
class Checker {
 public:
  explicit Checker(const Snapshot& snapshot)
      : snapshot_(snapshot), asking_(snapshot.config), engine_(snapshot.config) {}

  Fault run() {
    for (engine::Engine* engine : {&asking_, &engine_}) pools(*engine);
    if (isValid()) now();
    if (isValid()) history();
    return std::move(fault_);
  }

 private:
  bool isValid() const { return fault_.what.empty(); }
  void fail(Path path, const std::string& what) {
    if (isValid()) fault_ = {what, std::move(path)};
  }
  void hold(const Result<void>& result, const Path& path) {
    if (!result) fail(path, result.error().message());
  }

  void pools(engine::Engine& engine) {
    const auto set = engine.setPools(snapshot_.pools);
    if (!set) fail({{"pools"}}, set.error().message());
  }
  void node(engine::Engine& engine, const engine::Node& node, const Path& path) {
    hold(engine.setNode(node), path);
  }
  void nodes(engine::Engine& engine, const std::vector<engine::Node>& all, const Path& list) {
    std::set<engine::NodeName> names;
    for (std::size_t i = 0; i < all.size() && isValid(); ++i) {
      const Path path = at(list, i);
      if (!names.insert(all[i].name).second)
        return fail(path, "a second node is called \"" + all[i].name.text + "\"");
      node(engine, all[i], path);
    }
  }

  void placement(const engine::Placement& placement, const Path& path) {
    sums_.add(placement);
    if (!sums_.isValid()) return fail(path, "more is held in all than there can be");
    for (const std::uint16_t permille : placement.daily.value_or(engine::UsageByHour{}).permille) {
      if (permille > engine::kAllOfIt)
        return fail(path, "a day with " + std::to_string(permille) + "; accepted: 0 to 1000");
    }
    for (const engine::Charge& charge : placement.charges) {
      // Each the most at any time, which need not be the same time.
      if (charge.outside > charge.memory || charge.swappable > charge.memory ||
          charge.largest > charge.memory) {
        return fail(path, "device " + charge.uuid.text +
                              ": a part of its memory is more than all of it; accepted: "
                              "outside, swappable and largest up to memory_bytes");
      }
      if (charge.slots > kMaxHolders || charge.parts > charge.slots || charge.cpus > kMaxHolders ||
          charge.slices >> engine::kMaxSlices != 0) {
        return fail(path, "device " + charge.uuid.text +
                              ": slots, parts, cpus or slices; accepted: no more parts than "
                              "slots, slices as bits of " +
                              std::to_string(engine::kMaxSlices));
      }
    }
  }
  void allocation(engine::Engine& engine, const engine::Allocation& allocation, const Path& path) {
    if (allocation.id.empty()) return fail(path, "an allocation without an id");
    placement(allocation.placement, path);
    if (isValid()) hold(engine.adopt(allocation), path);
  }

  // Decided on no node: only what can never be right is refused.
  void request(const engine::Request& request, const Path& path) {
    if (request.id.empty()) return fail(path, "a request without an id");
    const Result<engine::Decision> right = asking_.decide(request);
    if (!right) fail(path, right.error().message());
  }

  void now() {
    nodes(engine_, snapshot_.nodes, {{"nodes"}});
    std::set<engine::RequestId> ids;
    const auto once = [&](const engine::RequestId& id, const Path& path) {
      if (!ids.insert(id).second) fail(path, "a second request is called \"" + id.text + "\"");
    };
    for (std::size_t i = 0; i < snapshot_.allocations.size() && isValid(); ++i) {
      const HeldAllocation& held = snapshot_.allocations[i];
      const Path path = at({{"allocations"}}, i);
      once(held.allocation.id, path);
      if (isValid()) allocation(engine_, held.allocation, path);
      if (held.shape && isValid()) request({held.allocation.id, *held.shape, held.user}, path);
    }
    for (std::size_t i = 0; i < snapshot_.pending.size() && isValid(); ++i) {
      const engine::Request& waits = snapshot_.pending[i].request;
      const Path path = at({{"pending"}}, i);
      once(waits.id, path);
      if (isValid()) request(waits, path);
    }
  }

  void history() {
    const History& history = snapshot_.history;
    engine::Engine engine(snapshot_.config);
    pools(engine);
    nodes(engine, history.nodes, {{"history"}, {"nodes"}});
    for (std::size_t i = 0; i < history.allocations.size() && isValid(); ++i)
      allocation(engine, history.allocations[i], at({{"history"}, {"allocations"}}, i));
    engine::Instant last{INT64_MIN};
    for (std::size_t i = 0; i < history.entries.size() && isValid(); ++i) {
      const HistoryEntry& entry = history.entries[i];
      const Path path = at({{"history"}, {"entries"}}, i);
      if (entry.at < last) return fail(path, "is before the entry before it");
      last = entry.at;
      std::visit([&](const auto& what) { follow(engine, what, path); }, entry.what);
    }
  }
  void follow(engine::Engine&, const RequestEvent& asked, const Path& path) {
    request(asked.request, path);
    if (asked.placement && isValid()) placement(*asked.placement, path);
    if (asked.outcome == RequestOutcome::kPlaced && !asked.placement)
      fail(path, "was placed, and no placement names its node");
  }
  void follow(engine::Engine& engine, const NodeUpdated& is, const Path& path) {
    node(engine, is.node, path);
  }
  void follow(engine::Engine& engine, const NodeRemoved& gone, const Path&) {
    engine.removeNode(gone.node);
  }
  void follow(engine::Engine& engine, const AllocationUpdated& holds, const Path& path) {
    engine.release(holds.allocation.id);
    allocation(engine, holds.allocation, path);
  }
  void follow(engine::Engine& engine, const AllocationReleased& released, const Path& path) {
    if (!engine.release(released.id))
      fail(path, "no request is called \"" + released.id.text + "\" there");
  }

  static Path at(Path list, std::size_t index) {
    list.push_back({"", index, true});
    return list;
  }

  const Snapshot& snapshot_;
  engine::Engine asking_;  // has no nodes
  engine::Engine engine_;
  HeldSums sums_;
  Fault fault_;
};

}  // namespace

Fault check(const Snapshot& snapshot) {
  return Checker(snapshot).run();
}

}  // namespace divvy::snapshot
