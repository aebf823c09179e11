#include "events/event_log.h"

#include <chrono>

#include "log/log.h"

namespace divvy::agent {

void EventLog::add(EventView event) {
  event.seq = ++last_;
  if (event.time_ms == 0) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    event.time_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
  const std::string whose = !event.tenant.empty() ? "tenant " + event.tenant
                            : event.device >= 0   ? "device " + std::to_string(event.device)
                                                  : event.name;
  log::info(whose + (whose.empty() ? "" : " ") + event.kind + ": " + event.reason +
            (event.by.empty() ? "" : " (by " + event.by + ")"));
  events_.push_back(std::move(event));
  if (events_.size() > kMax) events_.pop_front();
}

std::vector<EventView> EventLog::since(std::uint64_t after, const std::string& tenant) const {
  std::vector<EventView> found;
  for (const EventView& event : events_) {
    const bool meant = tenant.empty() || event.tenant == tenant || event.name == tenant;
    if (event.seq > after && meant) found.push_back(event);
  }
  return found;
}

}  // namespace divvy::agent
