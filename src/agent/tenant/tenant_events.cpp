#include "tenant/tenant_events.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/share_request.h"
#include "base/bytes.h"
#include "events/event_detector.h"

namespace divvy::agent {
namespace {

EventView of(const TenantRecord& record, std::string kind, std::string reason, std::string by) {
  EventView event;
  event.tenant = record.id;
  event.name = record.name;
  event.kind = std::move(kind);
  event.reason = std::move(reason);
  event.by = std::move(by);
  return event;
}

std::string percent(unsigned cores) {
  return std::to_string(cores) + " %";
}

std::string shareWord(const ShareRecord& share) {
  std::string words = formatBytes(share.limit);
  if (share.cores != 0) words += " and " + percent(share.cores);
  return words + " of " + share.uuid;
}

void note(std::vector<std::string>* all, const std::string& what, const std::string& before,
          const std::string& now) {
  if (before != now) all->push_back(what + ' ' + before + " to " + now);
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}

}  // namespace

EventView givenEvent(const TenantRecord& record, std::string by) {
  std::vector<std::string> words;
  for (const ShareRecord& share : record.shares) words.push_back(shareWord(share));
  words.push_back("priority " + std::string(priorityName(record.priority)));
  const PodContainer& lodger = record.lodger;
  if (record.ofPod())
    words.push_back("container " + lodger.container + " of pod " + lodger.namespace_name + '/' +
                    lodger.pod);
  return of(record, "given", joined(words), std::move(by));
}

std::optional<EventView> changedEvent(const TenantRecord& before, const TenantRecord& now,
                                      std::string by) {
  std::vector<std::string> words;
  const std::size_t count = std::min(before.shares.size(), now.shares.size());
  for (std::size_t at = 0; at < count; ++at) {
    const ShareRecord& was = before.shares[at];
    const ShareRecord& is = now.shares[at];
    const std::string where = count > 1 ? " of " + is.uuid : std::string();
    note(&words, "memory" + where, formatBytes(was.limit), formatBytes(is.limit));
    // Of memory that is never swapped it is the same.
    if (was.guarantee != was.limit || is.guarantee != is.limit)
      note(&words, "guaranteed" + where, formatBytes(was.guarantee), formatBytes(is.guarantee));
    note(&words, "cores" + where, percent(was.cores), percent(is.cores));
  }
  note(&words, "cores are a", std::string(coresPolicyName(before.cores_policy)),
       std::string(coresPolicyName(now.cores_policy)));
  note(&words, "priority", std::string(priorityName(before.priority)),
       std::string(priorityName(now.priority)));
  note(&words, "name", '"' + before.name + '"', '"' + now.name + '"');
  if (words.empty()) return std::nullopt;
  return of(now, "changed", joined(words), std::move(by));
}

EventView unchangedEvent(const TenantRecord& record, std::string reason, std::string by) {
  return of(record, "not-changed", std::move(reason), std::move(by));
}

EventView endedEvent(const TenantRecord& record, std::int64_t now_ms) {
  const std::int64_t began = record.created_ms != 0 ? record.created_ms : record.created * 1000;
  const std::int64_t lived = std::max<std::int64_t>(now_ms - began, 0);
  return of(record, "ended", "after " + spanWord(static_cast<std::uint64_t>(lived)), {});
}

EventView turnedAwayEvent(std::string name, std::string reason, std::string by) {
  EventView event;
  event.name = std::move(name);
  event.kind = "turned-away";
  event.reason = std::move(reason);
  event.by = std::move(by);
  return event;
}

std::string processWord(int pid, const std::string& user) {
  return "process " + std::to_string(pid) + (user.empty() ? "" : " of " + user);
}

}  // namespace divvy::agent
