// Requests that wait for room: the highest priority first, then who came first. Pure.
#pragma once

#include <cstdint>
#include <list>
#include <string>

#include "agent/share_request.h"

namespace divvy::agent {

struct Waiting {
  std::uint64_t ticket = 0;
  Priority priority = Priority::kNormal;
  int pid = 0;
  std::string name;
  ShareRequest ask;
  std::string reason;         // why it did not fit when last tried
  std::string id;             // of what it asked, in the history
  std::int64_t since_ms = 0;  // since 1970
};

// Only the head may be placed: a request behind never overtakes it, however small.
class WaitQueue {
 public:
  // The new entry's ticket.
  std::uint64_t join(Waiting waiting);
  void leave(std::uint64_t ticket);
  bool isHead(std::uint64_t ticket) const {
    return !entries_.empty() && entries_.front().ticket == ticket;
  }
  // 1 = head; 0 = not in the queue.
  unsigned position(std::uint64_t ticket) const;
  void setReason(std::uint64_t ticket, std::string reason);

  bool empty() const { return entries_.empty(); }
  const std::list<Waiting>& entries() const { return entries_; }

 private:
  std::list<Waiting> entries_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace divvy::agent
