#include "simulator/replay.h"

#include <algorithm>

#include "cluster/replay_reasons.h"
#include "cluster/replay_stats.h"

namespace divvy::simulator {
namespace {

using engine::Engine;
using engine::Request;
using OptionalPlacement = std::optional<engine::Placement>;

// Of everything in a replay: until it is confirmed, and nobody asks for it back.
constexpr engine::Instant kNever{INT64_MAX};

class Replayer {
 public:
  Replayer(const snapshot::Snapshot& snapshot, const ReplayOptions& options) : snapshot_(snapshot) {
    out_.config = snapshot.config;
    if (options.policy) out_.config.policy = *options.policy;
    if (options.devices) out_.config.devices = *options.devices;
    out_.dropped = snapshot.history.dropped;
  }

  Result<Replay> run() {
    const Expected expected = expectedOf(snapshot_);
    const engine::Target target = targetOf(expected);
    for (const auto& part : {&Replayer::decisions, &Replayer::now, &Replayer::anew}) {
      const Result<void> done = (this->*part)(target, expected);
      if (!done) return done.error();
    }
    return std::move(out_);
  }

 private:
  void record(ReplayedDecisions& to, const Engine& engine, const Request& request, Difference what,
              const OptionalPlacement& was, const OptionalPlacement& is,
              const std::string& reason) {
    if (samePlace(was, is)) {
      ++to.same;
      return;
    }
    ++to.differ;
    if (to.differences.size() == kMaxExplained) return;
    what.id = request.id.text;
    what.was = placeWords(was);
    what.is = placeWords(is);
    what.why = whyElsewhere(engine, out_.config, request, was, is, reason);
    to.differences.push_back(std::move(what));
  }

  Result<void> begin(Engine& engine) const {
    const auto pools = engine.setPools(snapshot_.pools);
    if (!pools) return pools.error();
    return {};
  }
  // Measured in an engine of its own: a target changes what is decided.
  CapacityStats figures(const Engine& decided, const engine::Target& target,
                        const Expected& expected) const {
    Engine engine(out_.config);
    Result<void> good = begin(engine);
    if (good) good = engine.setTarget(target);
    if (good) good = fill(engine, snapshot_.nodes);
    for (const engine::Allocation& one : decided.allocations())
      if (good) good = engine.adopt(one);
    return figuresOf(engine, snapshot_.nodes, expected);
  }
  static Result<void> fill(Engine& engine, const std::vector<engine::Node>& nodes) {
    for (const engine::Node& node : nodes) {
      const Result<void> set = engine.setNode(node);
      if (!set) return set;
    }
    return {};
  }

  // The history, ask by ask.
  Result<void> decisions(const engine::Target&, const Expected&) {
    Engine engine(out_.config);
    Result<void> good = begin(engine);
    if (good) good = fill(engine, snapshot_.history.nodes);
    for (const engine::Allocation& one : snapshot_.history.allocations)
      if (good) good = engine.adopt(one);
    for (const snapshot::HistoryEntry& entry : snapshot_.history.entries) {
      if (!good) return good;
      good =
          std::visit([&](const auto& what) { return follow(engine, entry.at, what); }, entry.what);
    }
    return good;
  }
  Result<void> follow(Engine& engine, engine::Instant at, const snapshot::RequestEvent& asked) {
    const Result<engine::Decision> again = engine.decide(asked.request);
    if (!again) return again.error();
    record(out_.decisions, engine, asked.request, {"", "", at.ms, "", "", ""}, asked.placement,
           again->placement, asked.reason);
    return {};
  }
  static Result<void> follow(Engine& engine, engine::Instant, const snapshot::NodeUpdated& is) {
    return engine.setNode(is.node);
  }
  static Result<void> follow(Engine& engine, engine::Instant, const snapshot::NodeRemoved& gone) {
    engine.removeNode(gone.node);
    return {};
  }
  static Result<void> follow(Engine& engine, engine::Instant,
                             const snapshot::AllocationUpdated& holds) {
    engine.release(holds.allocation.id);
    return engine.adopt(holds.allocation);
  }
  static Result<void> follow(Engine& engine, engine::Instant,
                             const snapshot::AllocationReleased& released) {
    engine.release(released.id);
    return {};
  }

  // As it is: who waits, and how much is in use.
  Result<void> now(const engine::Target& target, const Expected& expected) {
    Engine engine(out_.config);
    Result<void> good = begin(engine);
    if (good) good = fill(engine, snapshot_.nodes);
    for (const snapshot::HeldAllocation& held : snapshot_.allocations)
      if (good) good = engine.adopt(held.allocation);
    if (!good) return good;
    out_.before = figures(engine, target, expected);
    for (const snapshot::PendingRequest& one : snapshot_.pending) {
      const Result<engine::Decision> decided = engine.decide(one.request);
      if (!decided) return decided.error();
      ReplayedPending waits{
          one.request.id.text, one.name, false, decided->fits(), "", "", {}, false};
      waits.differs = waits.fits && out_.pending.empty();
      if (waits.fits) waits.where = placeWords(decided->placement);
      if (!waits.fits && out_.pending.size() < kMaxExplained) {
        waits.why = whyNowhere(engine, one.request);
        waits.changes = changesFor(engine, one.request);
      }
      out_.pending.push_back(std::move(waits));
    }
    return {};
  }

  // From empty nodes.
  Result<void> anew(const engine::Target& target, const Expected& expected) {
    Engine engine(out_.config);
    Result<void> good = begin(engine);
    if (good) good = fill(engine, snapshot_.nodes);
    for (const snapshot::HeldAllocation& held : snapshot_.allocations) {
      if (held.shape || !good) continue;
      good = engine.adopt(held.allocation);
      ++out_.anew.kept;
    }
    if (!good) return good;
    for (const snapshot::HeldAllocation& held : snapshot_.allocations) {
      if (!held.shape) continue;
      const Request request{held.allocation.id, *held.shape, held.user};
      const Result<engine::Decision> decided = engine.decide(request);
      if (!decided) return decided.error();
      record(out_.anew, engine, request, {"", held.name, held.since.ms, "", "", ""},
             held.allocation.placement, decided->placement, "");
      if (decided->fits()) static_cast<void>(engine.place(request, kNever));
    }
    for (std::size_t i = 0; i < snapshot_.pending.size(); ++i) {
      const Result<engine::Decision> decided = engine.decide(snapshot_.pending[i].request);
      out_.pending[i].fits_anew = decided && decided->fits();
    }
    out_.after = figures(engine, target, expected);
    return {};
  }

  const snapshot::Snapshot& snapshot_;
  Replay out_;
};

}  // namespace

bool Replay::asWritten() const {
  return decisions.differ == 0 &&
         std::none_of(pending.begin(), pending.end(),
                      [](const ReplayedPending& one) { return one.differs; });
}

Result<Replay> replay(const snapshot::Snapshot& snapshot, const ReplayOptions& options) {
  return Replayer(snapshot, options).run();
}

}  // namespace divvy::simulator
