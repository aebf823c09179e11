// Which owners in a report are still alive, as the agent sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ledger/packed_words.h"

namespace divvy::ledger {

// Returns the pid, in this process's own namespace, of the process that an owner word names; 0 if
// it is certainly dead. Searches pid namespaces below ours too: those of containers, and those that
// a tenant made. A zombie is dead once all its threads are. An owner without a start time matches
// by pid only; of several matches one is returned. kIo: it cannot be determined (no descriptors
// left, /proc unreadable); then nothing may be taken from the owner. `eligible`, if set: only
// processes, by our pid, for which it returns true are considered.
using Eligible = std::function<bool(std::uint32_t pid)>;
Result<std::uint32_t> findProcess(const Owner& owner, const Eligible& eligible = nullptr);

// Finds many owners, with the answers of findProcess. /proc is read only once: when the first owner
// is not found under its own pid. Otherwise a forged report could make the agent read /proc for
// each of its slots. Only for owners that wrote their words before the lookup was made.
class ProcessLookup {
 public:
  explicit ProcessLookup(Eligible eligible = nullptr) : eligible_(std::move(eligible)) {}
  Result<std::uint32_t> find(const Owner& owner);

 private:
  struct ProcStart {
    std::uint32_t pid = 0;  // in our namespace
    std::uint64_t start = 0;
  };
  Result<std::uint32_t> search(const Owner& owner);
  Result<void> readAll();

  Eligible eligible_;
  bool read_ = false;
  std::multimap<std::uint32_t, ProcStart> by_inner_;  // by pid in their innermost namespace
  std::vector<std::uint32_t> unread_;                 // processes about which nothing could be read
  std::map<std::uint64_t, std::uint32_t> answers_;    // answers, by the owner's word
};

// Returns false only if the owner is certainly dead.
bool ownerAlive(const Owner& owner);

// The owner word of a process of this pid namespace. kNotFound: no such process. kIo: cannot be
// determined.
Result<Owner> readOwner(std::uint32_t pid);

}  // namespace divvy::ledger
