#include "placement/wait_queue.h"

#include <algorithm>

namespace divvy::agent {

std::uint64_t WaitQueue::join(Waiting waiting) {
  waiting.ticket = ++last_ticket_;
  const auto behind = std::find_if(entries_.begin(), entries_.end(), [&](const Waiting& other) {
    return other.priority < waiting.priority;
  });
  entries_.insert(behind, std::move(waiting));
  return last_ticket_;
}

void WaitQueue::leave(std::uint64_t ticket) {
  entries_.remove_if([&](const Waiting& entry) { return entry.ticket == ticket; });
}

unsigned WaitQueue::position(std::uint64_t ticket) const {
  unsigned position = 0;
  for (const Waiting& entry : entries_) {
    ++position;
    if (entry.ticket == ticket) return position;
  }
  return 0;
}

void WaitQueue::setReason(std::uint64_t ticket, std::string reason) {
  for (Waiting& entry : entries_) {
    if (entry.ticket == ticket) entry.reason = std::move(reason);
  }
}

}  // namespace divvy::agent
