// Requests that wait for capacity: highest priority first, then in order of arrival. Pure.
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
  std::string reason;         // why it did not fit at the last attempt
  std::string id;             // of the request, in the history
  std::int64_t since_ms = 0;  // milliseconds since 1970
};

// Only the head may be placed: no later request overtakes it, however small.
class WaitQueue {
 public:
  // Returns the new entry's ticket.
  std::uint64_t join(Waiting waiting);
  void leave(std::uint64_t ticket);
  bool isHead(std::uint64_t ticket) const {
    return !entries_.empty() && entries_.front().ticket == ticket;
  }
  // 1: head; 0: not in the queue.
  unsigned position(std::uint64_t ticket) const;
  void setReason(std::uint64_t ticket, std::string reason);

  bool empty() const { return entries_.empty(); }
  const std::list<Waiting>& entries() const { return entries_; }

 private:
  std::list<Waiting> entries_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace divvy::agent
