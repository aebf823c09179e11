#include "events/event_detector.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/duration.h"

namespace divvy::agent {
namespace {

// Tenants report sizes; no device has as much.
constexpr std::uint64_t kMaxShown = std::uint64_t{1} << 50;

std::uint64_t swappedOf(const TenantView& tenant) {
  std::uint64_t sum = 0;
  for (const ShareView& share : tenant.shares) sum += share.swapped;
  return sum;
}

// Swapped-out memory, and memory that still has to be swapped out.
std::uint64_t leavingOf(const TenantView& tenant) {
  std::uint64_t sum = 0;
  for (const ShareView& share : tenant.shares)
    sum += std::max(share.swapped, share.used - std::min(share.used, share.allowed));
  return sum;
}

std::uint64_t limitOf(const TenantView& tenant) {
  return tenant.shares.empty() ? 0 : tenant.shares.front().limit;
}

std::string labelIn(const Snapshot& node, const std::string& id) {
  for (const TenantView& tenant : node.tenants)
    if (tenant.id == id) return tenant.name.empty() ? id : tenant.name;
  return id;
}

std::string times(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// "1 request of 8 GiB" and `rest`; of several the size of the last one follows. 0: not known.
std::string requests(std::uint64_t count, std::uint64_t bytes, const std::string& rest) {
  const std::string size = bytes == 0 ? "" : formatBytes({std::min(bytes, kMaxShown)});
  if (count == 1) return "1 request" + (size.empty() ? "" : " of " + size) + rest;
  return times(count, "request") + rest + (size.empty() ? "" : "; the last of " + size);
}

// A tenant may write any number.
void addTo(std::uint64_t* sum, std::uint64_t more) {
  *sum += std::min(more, UINT64_MAX - *sum);
}

EventView of(const TenantView& tenant, std::string kind, std::string reason) {
  EventView event;
  event.tenant = tenant.id;
  event.name = tenant.name;
  if (tenant.shares.size() == 1) event.device = static_cast<int>(tenant.shares.front().device);
  event.kind = std::move(kind);
  event.reason = std::move(reason);
  return event;
}

// Where it went, and why.
EventView leaving(const TenantView& tenant, const Snapshot& node, std::uint64_t bytes) {
  const std::string size = formatBytes({bytes});
  const std::string whom = tenant.lent_to.empty() ? "" : labelIn(node, tenant.lent_to);
  if (tenant.memory_reason == "higher-class")
    return of(tenant, "yielded",
              size + " swapped out for " + (whom.empty() ? "a higher priority" : whom) +
                  "; it is swapped in again automatically");
  if (tenant.memory_reason == "unused")
    return of(tenant, "reclaimed",
              "idle for " + spanWord(tenant.idle_s * 1000) + ": " + size +
                  " swapped out; swapped in at its next work");
  if (tenant.memory_reason == "short")
    return of(tenant, "short",
              size + " is in host memory: it needs more than the device can provide" +
                  (tenant.host_map == "cannot" ? ", and its driver cannot map host memory"
                   : tenant.host_map == "off"  ? ", and mapping host memory is off"
                                               : ""));
  const std::string others = whom.empty() ? "others" : whom;
  if (tenant.memory_reason == "idle")
    return of(tenant, "swapped-out", size + ": idle, and " + others + " needed the memory");
  return of(tenant, "swapped-out", size + ": the turn of " + others);
}

}  // namespace

std::string spanWord(std::uint64_t ms) {
  return formatDuration(static_cast<std::int64_t>(ms / 1000), kShortUnitsToHours);
}

void EventDetector::detectMemoryEvents(const TenantView& tenant, const Snapshot& node,
                                       std::uint64_t now_ms, PreviousSample* past,
                                       std::vector<EventView>* events) {
  const std::uint64_t swapped = swappedOf(tenant);
  const bool away = swapped != 0 && tenant.memory_reason != "fits" && tenant.memory != "kept";
  const bool another = past->out && (past->out_reason != tenant.memory_reason ||
                                     (past->lent_to != tenant.lent_to && !tenant.lent_to.empty()));
  if (away && (!past->out || another)) {
    events->push_back(leaving(tenant, node, leavingOf(tenant)));
    if (!past->out) past->out_since_ms = now_ms;
    past->out = true;
    past->out_reason = tenant.memory_reason;
    past->lent_to = tenant.lent_to;
  }
  past->out_bytes = past->out ? std::max(past->out_bytes, swapped) : 0;
  if (!past->out || swapped != 0) return;
  events->push_back(
      of(tenant, "swapped-in",
         formatBytes({past->out_bytes}) + " back after " + spanWord(now_ms - past->out_since_ms)));
  past->out = false;
}

void EventDetector::detectRefusals(const TenantView& tenant, const PreviousSample& past,
                                   std::vector<EventView>* events) {
  if (tenant.refused > past.refused) {
    const std::uint64_t more = tenant.refused - past.refused;
    addTo(&refused_.over_limit, more);
    events->push_back(of(tenant, "refused",
                         requests(more, tenant.refused_bytes,
                                  " beyond its limit of " + formatBytes({limitOf(tenant)}))));
  }
  if (tenant.refused_short > past.refused_short) {
    const std::uint64_t more = tenant.refused_short - past.refused_short;
    addTo(&refused_.device_full, more);
    events->push_back(of(tenant, "device-full",
                         requests(more, tenant.refused_short_bytes,
                                  " within its limit of " + formatBytes({limitOf(tenant)}) +
                                      ": the device has no memory that could be freed")));
  }
  if (tenant.pressure_waits > past.waits)
    events->push_back(of(tenant, "waited",
                         times(tenant.pressure_waits - past.waits, "allocation") +
                             " waited up to " + spanWord(tenant.pressure_wait_ms) +
                             ": the device is short of memory that is never swapped"));
  if (tenant.refusal != past.refusal && !tenant.refusal.empty())
    events->push_back(of(tenant, tenant.refusal.starts_with("the host") ? "host-short" : "kept",
                         "could not release memory on request: " + tenant.refusal));
}

std::vector<EventView> EventDetector::detect(const Snapshot& node, std::uint64_t now_ms) {
  std::vector<EventView> events;
  std::map<std::string, PreviousSample> fresh;
  for (const TenantView& tenant : node.tenants) {
    PreviousSample& past = fresh[tenant.id] = tenants_[tenant.id];
    if (past.seen || looked_) detectRefusals(tenant, past, &events);
    detectMemoryEvents(tenant, node, now_ms, &past, &events);
    past.refused = tenant.refused;
    past.refused_short = tenant.refused_short;
    past.waits = tenant.pressure_waits;
    past.refusal = tenant.refusal;
    past.seen = true;
  }
  tenants_ = std::move(fresh);
  looked_ = true;
  for (const DeviceView& device : node.devices) {
    if (!std::exchange(thrash_[device.index], device.thrash_risk) && device.thrash_risk) {
      EventView event;
      event.device = static_cast<int>(device.index);
      event.kind = "thrash-risk";
      event.reason = "its tenants swap too often for the work between swaps: a swap takes " +
                     spanWord(device.swap_predicted_ms) + ", a turn " + spanWord(device.quantum_ms);
      events.push_back(std::move(event));
    }
  }
  return events;
}

std::vector<EventView> EventDetector::detectEnd(const TenantView& last) {
  std::vector<EventView> events;
  const auto past = tenants_.find(last.id);
  const bool seen = past != tenants_.end();
  if (seen || looked_) detectRefusals(last, seen ? past->second : PreviousSample{}, &events);
  if (seen) tenants_.erase(past);
  return events;
}

}  // namespace divvy::agent
