// Records a bounded history of placement while it happens. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace divvy::snapshot {

// A history of at most `most_asks` requests and kMaxEntries entries. Older entries become part of
// the initial state of the history. Not thread-safe.
class Recorder {
 public:
  static constexpr std::size_t kMaxAsks = 1000;
  static constexpr std::size_t kMaxEntries = 20'000;

  explicit Recorder(std::size_t most_asks = kMaxAsks) : most_asks_(most_asks) {}

  // Compares all nodes and all allocations with those of the last call, and records the differences
  // at instant `at`. The first call sets the initial state.
  void note(engine::Instant at, const std::vector<engine::Node>& nodes,
            const std::vector<engine::Allocation>& allocations);
  // Records a request, which was decided on the state of the last note(). At the limits the oldest
  // requests, and the entries before them, are dropped.
  void recordRequest(engine::Instant at, RequestEvent asked);

  // Returns the history. Its instants never decrease, even if a caller's clock was set back.
  const History& history() const { return history_; }

 private:
  void enter(engine::Instant at, decltype(HistoryEntry::what) what);
  void trim();
  // Applies an entry to the initial state of the history.
  void begin(const HistoryEntry& entry);

  std::size_t most_asks_;
  History history_;
  std::size_t asks_ = 0;
  bool began_ = false;
  std::map<engine::NodeName, std::string> nodes_;  // of the last note(), as text
  std::map<engine::RequestId, engine::Allocation> allocations_;
};

// Replaces names, IDs and label values by numbers everywhere; equal texts get equal numbers.
// Removes reasons, which may contain names. Decisions stay equal, except those of Policy::kRandom.
// Pure.
void redact(Snapshot& snapshot);

}  // namespace divvy::snapshot
