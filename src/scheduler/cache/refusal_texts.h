// Texts of the engine's refusals. Many nodes share a text. Pure. Private.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/compact_refusal.h"
#include "engine/request.h"
#include "scheduler/node_reasons.h"

namespace divvy::scheduler {

// Creates each text once.
class RefusalTextCache {
 public:
  // For a request with this shape. `containers`: names, init containers first.
  RefusalTextCache(std::vector<std::string> containers, const engine::Shape& shape);

  // Returns true if no eviction on the node helps.
  static bool never(const engine::CompactRefusal& brief) {
    return brief.why == engine::NodeWhy::kTooFew;
  }
  // Returns the text of a refusal. `brief` outlives this object. The result is valid while this
  // object lives.
  const Reason& reasonOf(const engine::CompactRefusal& brief);
  // Returns one text for each refusal, in their order.
  std::vector<Reason> reasonsOf(const std::vector<engine::CompactRefusal>& different);

 private:
  using Key = std::tuple<engine::NodeWhy, std::size_t, std::uint64_t, engine::DeviceWhy,
                         engine::DeviceKind>;
  std::vector<std::string> containers_;
  std::string models_;  // suffix with the requested models; empty: none requested
  std::map<Key, Reason> made_;
  const engine::CompactRefusal* last_ = nullptr;  // the next refusal is usually equal
  const Reason* last_reason_ = nullptr;
};

}  // namespace divvy::scheduler
