// The processes of one tenant that registered: each is watched once, whatever slots it claims.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "agent/process.h"
#include "base/fd.h"
#include "os/asio.h"

namespace divvy::agent {

// One process that keeps a tenant alive, watched through its pidfd.
struct WatchedProcess {
  ProcessId id;
  std::unique_ptr<asio::posix::stream_descriptor> exit;
};

struct SlotKey {
  unsigned slot = 0;
  std::uint64_t generation = 0;
  friend auto operator<=>(const SlotKey&, const SlotKey&) = default;
};

// Slots and generations are the tenant's own words: a slot has one generation here, the last one
// seen, so that what is kept is bounded by the slots of a report page and by kMax processes.
// On the agent's one thread.
class TenantProcesses {
 public:
  static constexpr std::size_t kMax = 1024;

  bool empty() const { return watched_.empty(); }
  bool full() const { return watched_.size() >= kMax; }
  bool has(const SlotKey& key) const { return slots_.contains(key); }
  bool watches(const ProcessId& id) const { return watched_.contains(id); }

  // Which process claimed a slot.
  const std::map<SlotKey, ProcessId>& slots() const { return slots_; }
  // Each process once.
  const std::map<ProcessId, WatchedProcess>& watched() const { return watched_; }
  // Null: that number is no process of this tenant.
  const WatchedProcess* find(int pid) const;

  // Notes that a process claimed a slot; `watch` is asked for its watch where it has none yet. What
  // the slot was before, if it was another generation's.
  std::optional<SlotKey> claim(const SlotKey& key, const ProcessId& id,
                               const std::function<WatchedProcess()>& watch);
  // The process has ended: it is not watched any more. The slots that it had.
  std::vector<SlotKey> remove(const ProcessId& id);
  void clear();

 private:
  void release(const ProcessId& id);

  std::map<SlotKey, ProcessId> slots_;
  std::map<ProcessId, WatchedProcess> watched_;
  std::map<ProcessId, std::size_t> claims_;  // slots of each
};

}  // namespace divvy::agent
