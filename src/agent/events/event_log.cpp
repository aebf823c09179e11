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
  const log::Field subject = !event.tenant.empty() ? log::Field{"tenant", event.tenant}
                             : event.device >= 0
                                 ? log::Field{"device", std::to_string(event.device)}
                                 : log::Field{"name", event.name};
  const log::Field reason{"reason", event.reason};
  if (event.by.empty())
    log::info("event", {{"kind", event.kind}, subject, reason});
  else
    log::info("event", {{"kind", event.kind}, subject, reason, {"by", event.by}});
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
