#include "recording/event_history.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/json.hpp>

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr const char* kUid = "uid";

history::Event eventOf(const ClusterEvent& event) {
  history::Event kept;
  kept.time = history::Instant(history::Span(event.time_ms));
  kept.kind = event.reason;
  kept.object = event.namespace_name + '/' + event.pod;
  kept.actor = event.actor;
  kept.text = event.text;
  kept.json = bj::serialize(bj::object{{kUid, event.uid}});
  return kept;
}

// Empty: the event is not one of the API server's.
std::string uidOf(const history::Event& event) {
  boost::system::error_code fault;
  const bj::value details = bj::parse(event.json, fault);
  const bj::value* uid =
      fault || !details.is_object() ? nullptr : details.get_object().if_contains(kUid);
  return uid != nullptr && uid->is_string() ? std::string(uid->get_string()) : std::string();
}

ClusterEvent clusterEventOf(const history::Event& event, std::string uid) {
  const std::size_t slash = std::min(event.object.find('/'), event.object.size());
  ClusterEvent found;
  found.uid = std::move(uid);
  found.namespace_name = event.object.substr(0, slash);
  found.pod = event.object.substr(std::min(slash + 1, event.object.size()));
  found.reason = event.kind;
  found.text = event.text;
  found.actor = event.actor;
  found.time_ms = event.time.time_since_epoch().count();
  return found;
}

bool isOlder(const ClusterEvent& one, const ClusterEvent& two) {
  return std::tie(one.time_ms, one.uid) < std::tie(two.time_ms, two.uid);
}

}  // namespace

// An Event that occurred several times has several entries; the newest one counts.
void EventHistory::load() {
  history::EventQuery page;
  page.limit = history::kMaxPage;
  for (std::size_t read = 0; read < kMaxEvents; read += page.limit) {
    const Result<std::vector<history::StoredEvent>> events = store_.events(page);
    if (!events || events->empty()) return;
    for (const history::StoredEvent& one : *events)
      if (std::string uid = uidOf(one.event); !uid.empty())
        kept_.try_emplace(uid, clusterEventOf(one.event, uid));
    page.before_id = events->back().id;
    page.before_time = events->back().event.time;
  }
}

void EventHistory::forgetOldest() {
  if (kept_.size() <= kMaxEvents) return;
  std::vector<ByUid::iterator> order;
  for (auto at = kept_.begin(); at != kept_.end(); ++at) order.push_back(at);
  const auto excess = static_cast<std::ptrdiff_t>(kept_.size() - kMaxEvents);
  std::nth_element(
      order.begin(), order.begin() + excess, order.end(),
      [](const auto& one, const auto& two) { return isOlder(one->second, two->second); });
  for (auto at = order.begin(); at != order.begin() + excess; ++at) kept_.erase(*at);
}

void EventHistory::merge(ClusterReading& reading) {
  if (!std::exchange(loaded_, true)) load();
  for (ClusterEvent& event : reading.events) {
    const auto at = kept_.find(event.uid);
    if (at != kept_.end() && at->second.time_ms >= event.time_ms) continue;
    store_.append(eventOf(event));
    kept_.insert_or_assign(event.uid, std::move(event));
  }
  forgetOldest();
  reading.events.clear();
  for (const auto& [uid, event] : kept_) reading.events.push_back(event);
  std::sort(reading.events.begin(), reading.events.end(), isOlder);
}

}  // namespace divvy::console
