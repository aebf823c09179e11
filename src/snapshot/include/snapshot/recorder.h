// Keeps a history while it happens, bounded. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace divvy::snapshot {

class Recorder {
 public:
  static constexpr std::size_t kMaxAsks = 1000;
  static constexpr std::size_t kMaxEntries = 20'000;

  explicit Recorder(std::size_t most_asks = kMaxAsks) : most_asks_(most_asks) {}

  // All nodes and all that is held: what of it is not as it was told last is entered. With the
  // first call the history begins.
  void note(engine::Instant at, const std::vector<engine::Node>& nodes,
            const std::vector<engine::Allocation>& allocations);
  // Decided by what was noted last. The oldest asks, with what came before them, go for it where
  // there are too many.
  void recordRequest(engine::Instant at, RequestEvent asked);

  const History& history() const { return history_; }

 private:
  void enter(engine::Instant at, decltype(HistoryEntry::what) what);
  void trim();
  // Into what the history begins with.
  void begin(const HistoryEntry& entry);

  std::size_t most_asks_;
  History history_;
  std::size_t asks_ = 0;
  bool began_ = false;
  std::map<engine::NodeName, std::string> nodes_;  // as they were noted last, as text
  std::map<engine::RequestId, engine::Allocation> allocations_;
};

// Tenants and nodes get numbers for names, ids and label values, wherever they are; reasons, which
// may hold names, are left out. Decisions stay the same, but for Policy::kRandom.
void redact(Snapshot& snapshot);

}  // namespace divvy::snapshot
