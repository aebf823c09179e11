// Who of the owners in a report still lives, as the agent sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ledger/packed_words.h"

namespace divvy::ledger {

// The process that an owner word names, as a pid of this process' own namespace; 0 when it is
// certainly dead. Looks into pid namespaces below ours, so that a tenant's container, or one that
// the tenant made itself, is understood. A zombie is dead once all its threads are. An owner
// without a start time matches by number only. Where several match, one of them is told. kIo when
// it cannot be told (no descriptors left, /proc unreadable): then nothing may be taken from the
// owner. `eligible`, where there is one: only processes (by our numbers) that it says yes to.
using Eligible = std::function<bool(std::uint32_t pid)>;
Result<std::uint32_t> findProcess(const Owner& owner, const Eligible& eligible = nullptr);

// Looks for many owners, with findProcess's answers. /proc is read once, when one of them is first
// not found under its own number, however many are asked for: whoever writes a report could have
// an agent read it for each of its slots. Of owners who wrote their words before it was made.
class ProcessLookup {
 public:
  explicit ProcessLookup(Eligible eligible = nullptr) : eligible_(std::move(eligible)) {}
  Result<std::uint32_t> find(const Owner& owner);

 private:
  struct Seen {
    std::uint32_t pid = 0;  // of ours
    std::uint64_t start = 0;
  };
  Result<std::uint32_t> look(const Owner& owner);
  Result<void> readAll();

  Eligible eligible_;
  bool read_ = false;
  std::multimap<std::uint32_t, Seen> by_inner_;  // by the number in their innermost namespace
  std::vector<std::uint32_t> unread_;            // of whom nothing could be read
  std::map<std::uint64_t, std::uint32_t> told_;  // by the owner's word
};

// False only when the owner is certainly dead.
bool ownerAlive(const Owner& owner);

// The owner word of a process of this pid namespace. kNotFound when there is none; kIo as above.
Result<Owner> readOwner(std::uint32_t pid);

}  // namespace divvy::ledger
