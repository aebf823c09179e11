#include "points/batch.h"

#include <algorithm>
#include <iterator>

namespace divvy::history {
namespace {

std::size_t keepNewestMinutes(std::map<Instant, std::string>& minutes) {
  std::size_t bytes = 0, dropped = 0;
  for (const auto& [time, row] : minutes) bytes += row.size() + 64;
  while (bytes > Batch::kMaxMinuteBytes && minutes.size() > 1) {
    bytes -= minutes.begin()->second.size() + 64;
    minutes.erase(minutes.begin());
    ++dropped;
  }
  return dropped;
}

}  // namespace

bool Batch::empty() const {
  return series.empty() && seen.empty() && minutes.empty() && chunks.empty() && usage.empty() &&
         devices.empty() && events.empty() && objects.empty();
}

std::size_t Batch::absorb(Batch&& newer) {
  std::size_t dropped = 0;
  series.merge(newer.series);
  for (const auto& [id, time] : newer.seen) seen[id] = time;
  for (auto& [time, row] : newer.minutes) minutes[time] = std::move(row);
  dropped += keepNewestMinutes(minutes);
  chunks.insert(chunks.end(), std::make_move_iterator(newer.chunks.begin()),
                std::make_move_iterator(newer.chunks.end()));
  if (chunks.size() > kMaxPoints) {
    const auto excess = static_cast<std::ptrdiff_t>(chunks.size() - kMaxPoints);
    chunks.erase(chunks.begin(), chunks.begin() + excess);
    dropped += static_cast<std::size_t>(excess);
  }
  for (const auto& [key, amounts] : newer.usage) dropped += !addUsage({key, amounts});
  for (const auto& [key, row] : newer.devices) dropped += !addDevice(row);
  for (Event& event : newer.events) dropped += !add(std::move(event));
  for (auto& [uid, object] : newer.objects) dropped += !see(std::move(object));
  newer = {};
  return dropped;
}

bool Batch::add(Event event) {
  if (events.size() >= kMaxEvents) return false;
  for (std::string* text : {&event.text, &event.json, &event.kind, &event.object, &event.actor})
    if (text->size() > kMaxEventText) text->resize(kMaxEventText);
  events.push_back(std::move(event));
  return true;
}

bool Batch::see(ObjectRecord object) {
  const auto found = objects.find(object.uid);
  if (found == objects.end()) {
    if (object.uid.empty() || objects.size() >= kMaxObjects) return false;
    std::string uid = object.uid;
    objects.emplace(std::move(uid), std::move(object));
    return true;
  }
  ObjectRecord& known = found->second;
  for (const auto member : {&ObjectRecord::kind, &ObjectRecord::name, &ObjectRecord::namespace_name,
                            &ObjectRecord::team, &ObjectRecord::queue, &ObjectRecord::owner,
                            &ObjectRecord::image, &ObjectRecord::model})
    if (!(object.*member).empty()) known.*member = std::move(object.*member);
  known.first_seen = std::min(known.first_seen, object.first_seen);
  known.last_seen = std::max(known.last_seen, object.last_seen);
  return true;
}

bool Batch::addUsage(const UsageRow& row) {
  const auto found = usage.find(row.key);
  if (found == usage.end() && usage.size() >= kMaxUsage) return false;
  history::add(usage[row.key], row.amounts);
  return true;
}

bool Batch::addDevice(const DeviceHour& row) {
  if (!devices.contains(row.key) && devices.size() >= kMaxUsage) return false;
  DeviceHour& sum = devices[row.key];
  sum.key = row.key;
  sum.seconds += row.seconds;
  sum.byte_seconds += row.byte_seconds;
  return true;
}

}  // namespace divvy::history
