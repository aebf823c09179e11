// Why the engine refuses nodes, in words that few nodes have for themselves. Pure. Private.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/compact_refusal.h"
#include "engine/request.h"
#include "scheduler/node_reasons.h"

namespace divvy::scheduler {

// Makes each text once.
class RefusalTextCache {
 public:
  // Of a request of this shape; names of containers, init containers first.
  RefusalTextCache(std::vector<std::string> containers, const engine::Shape& shape);

  // Nothing that ends there helps.
  static bool never(const engine::CompactRefusal& brief) {
    return brief.why == engine::NodeWhy::kTooFew;
  }
  // `brief` outlives it.
  const Reason& reasonOf(const engine::CompactRefusal& brief);
  // One for each.
  std::vector<Reason> reasonsOf(const std::vector<engine::CompactRefusal>& different);

 private:
  using Key = std::tuple<engine::NodeWhy, std::size_t, std::uint64_t, engine::DeviceWhy,
                         engine::DeviceKind>;
  std::vector<std::string> containers_;
  std::string models_;  // what is said of the models that were asked for; empty: nothing
  std::map<Key, Reason> made_;
  const engine::CompactRefusal* last_ = nullptr;  // mostly the next has the same
  const Reason* last_reason_ = nullptr;
};

}  // namespace divvy::scheduler
