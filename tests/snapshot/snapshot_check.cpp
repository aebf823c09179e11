#include "snapshot_check.h"

#include <algorithm>

#include "engine/engine.h"
#include "snapshot/text.h"

namespace divvy::snapshot {

std::string faultOf(std::string_view text, bool* read) {
  const Result<Snapshot> snapshot = parse(text, "file");
  if (read != nullptr) *read = static_cast<bool>(snapshot);
  if (!snapshot) {
    const std::string& message = snapshot.error().message();
    if (snapshot.error().code() != ErrorCode::kUsage) return "not the reader's fault: " + message;
    if (!message.starts_with("file:1:") && !message.starts_with("file:"))
      return "names no place: " + message;
    const bool plain = std::all_of(message.begin(), message.end(),
                                   [](char c) { return static_cast<unsigned char>(c) >= ' '; });
    return plain ? "" : "holds control characters: " + message;
  }
  // What is read is written as what is read the same way.
  const std::string again = write(*snapshot);
  const Result<Snapshot> second = parse(again, "again");
  if (!second) return "is not read when written again: " + second.error().message();
  if (write(*second) != again) return "is written differently when read again";
  // And an engine takes it.
  engine::Engine engine(snapshot->config);
  if (const auto set = engine.setPools(snapshot->pools); !set) return set.error().message();
  for (const engine::Node& node : snapshot->nodes)
    if (const Result<void> set = engine.setNode(node); !set) return set.error().message();
  for (const HeldAllocation& held : snapshot->allocations)
    if (const Result<void> set = engine.adopt(held.allocation); !set) return set.error().message();
  if (snapshot->nodes.size() > 64) return "";
  for (std::size_t i = 0; i < std::min<std::size_t>(snapshot->pending.size(), 8); ++i) {
    const auto decided = engine.decide(snapshot->pending[i].request);
    if (!decided) return decided.error().message();
  }
  return "";
}

}  // namespace divvy::snapshot
