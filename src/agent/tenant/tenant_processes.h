// The registered processes of one tenant. Each is watched once, however many slots it claims.
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

// A process that keeps a tenant alive, watched through its pidfd.
struct WatchedProcess {
  ProcessId id;
  std::unique_ptr<asio::posix::stream_descriptor> exit;
};

struct SlotKey {
  unsigned slot = 0;
  std::uint64_t generation = 0;
  friend auto operator<=>(const SlotKey&, const SlotKey&) = default;
};

// The tenant chooses slots and generations. A slot has one generation here, the last one seen: the
// slots of a report page and kMax processes bound the size. Only on the agent's one thread.
class TenantProcesses {
 public:
  static constexpr std::size_t kMax = 1024;

  bool empty() const { return watched_.empty(); }
  bool full() const { return watched_.size() >= kMax; }
  bool has(const SlotKey& key) const { return slots_.contains(key); }
  bool watches(const ProcessId& id) const { return watched_.contains(id); }

  // The process that claimed each slot.
  const std::map<SlotKey, ProcessId>& slots() const { return slots_; }
  // Each process once.
  const std::map<ProcessId, WatchedProcess>& watched() const { return watched_; }
  // Null: no watched process has that PID.
  const WatchedProcess* find(int pid) const;

  // Records that a process claimed a slot. Calls `watch` if the process is not watched yet. Returns
  // the slot's key before, if its generation was another.
  std::optional<SlotKey> claim(const SlotKey& key, const ProcessId& id,
                               const std::function<WatchedProcess()>& watch);
  // Removes a process that has ended. Returns its slots.
  std::vector<SlotKey> remove(const ProcessId& id);
  void clear();

 private:
  void release(const ProcessId& id);

  std::map<SlotKey, ProcessId> slots_;
  std::map<ProcessId, WatchedProcess> watched_;
  std::map<ProcessId, std::size_t> claims_;  // number of slots of each process
};

}  // namespace divvy::agent
