#include "recording/recorder.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "history/counter.h"
#include "rows/rows.h"
#include "rows/workload_key.h"

namespace divvy::console {
namespace {

constexpr std::int64_t kPermilleOfPercent = 10;
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr int kWhole = 1000;
// The store removes objects that were not seen for long.
constexpr std::chrono::hours kSeenAgain{1};

std::uint64_t swappedOn(const agent::Snapshot& node, unsigned device) {
  std::uint64_t sum = 0;
  for (const agent::TenantView& tenant : node.tenants) {
    for (const agent::ShareView& share : tenant.shares)
      sum += share.device == device ? share.swapped : 0;
  }
  return sum;
}

// The device's time that its tenants had; -1: no tenant's is known.
int usageOn(const agent::Snapshot& node, unsigned device) {
  int sum = -1;
  for (const agent::TenantView& tenant : node.tenants) {
    for (const agent::ShareView& share : tenant.shares) {
      if (share.device == device && share.got_permille >= 0)
        sum = std::max(sum, 0) + share.got_permille;
    }
  }
  return sum;
}

// As the agent accounts it: the charged part; the driver's figure of a share that is not charged,
// because it is alone on its device. Unknown use counts as none: sums are lower bounds.
std::int64_t usedPermilleOf(const agent::ShareView& share) {
  if (share.got_permille >= 0) return share.got_permille;
  return std::max<std::int64_t>(share.utilisation, 0) * kPermilleOfPercent;
}

std::int64_t amount(std::uint64_t bytes) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, history::kMaxValue));
}

template <typename Get>
std::int64_t sumOf(const agent::TenantView& tenant, Get get) {
  return std::accumulate(
      tenant.shares.begin(), tenant.shares.end(), std::int64_t{0},
      [&](std::int64_t sum, const agent::ShareView& share) { return sum + amount(get(share)); });
}

}  // namespace

const std::vector<std::string_view>& deviceMetrics() {
  static const std::vector<std::string_view> names{"memory_used_bytes",      "memory_limits_bytes",
                                                   "memory_swapped_bytes",   "utilisation_permille",
                                                   "compute_usage_permille", "tenants"};
  return names;
}

const std::vector<std::string_view>& shareMetrics() {
  static const std::vector<std::string_view> names{"memory_used_bytes",    "memory_resident_bytes",
                                                   "memory_swapped_bytes", "memory_limit_bytes",
                                                   "usage_permille",       "throttled_permille"};
  return names;
}

const std::vector<std::string_view>& overviewMetrics() {
  static const std::vector<std::string_view> names{"memory_used_bytes", "memory_limits_bytes",
                                                   "utilisation_permille", "tenants", "waiting"};
  return names;
}

// The agents report all events that they have at the first reading: a console before this one may
// have kept them.
Recorder::Recorder(history::Store& store) : store_(store) {
  history::EventQuery newest;
  newest.limit = 1;
  const Result<std::vector<history::StoredEvent>> kept = store.events(newest);
  if (kept && !kept->empty()) kept_until_ = kept->front().event.time;
}

void Recorder::put(Samples& samples, const char* kind, const std::string& object,
                   std::string_view metric, std::int64_t value) {
  history::SeriesKey key{kind, object, std::string(metric)};
  auto at = ids_.find(key);
  if (at == ids_.end()) {
    const Result<history::SeriesId> id = store_.series(key, history::SeriesType::kGauge);
    // A store that is full of series records those that it has.
    if (!id) return;
    at = ids_.emplace(std::move(key), *id).first;
  }
  samples.push_back({at->second, value});
}

void Recorder::recordDevices(const agent::Snapshot& node, Samples& samples) {
  for (const agent::DeviceView& device : node.devices) {
    const auto add = [&](std::string_view metric, std::int64_t value) {
      put(samples, "device", device.uuid, metric, value);
    };
    add("memory_used_bytes", amount(device.used));
    add("memory_limits_bytes", amount(device.promised));
    add("memory_swapped_bytes", amount(swappedOn(node, device.index)));
    add("tenants", device.tenants);
    if (device.utilisation >= 0)
      add("utilisation_permille", device.utilisation * kPermilleOfPercent);
    const int usage = usageOn(node, device.index);
    if (usage >= 0) add("compute_usage_permille", usage);
  }
}

void Recorder::recordShares(const agent::Snapshot& node, Samples& samples) {
  for (const agent::TenantView& tenant : node.tenants) {
    const std::string id = shareId(node.node, tenant.id);
    const auto add = [&](std::string_view metric, std::int64_t value) {
      put(samples, "share", id, metric, value);
    };
    add("memory_used_bytes", sumOf(tenant, [](const auto& share) { return share.used; }));
    add("memory_resident_bytes", sumOf(tenant, [](const auto& share) { return share.resident; }));
    add("memory_swapped_bytes", sumOf(tenant, [](const auto& share) { return share.swapped; }));
    add("memory_limit_bytes", sumOf(tenant, [](const auto& share) { return share.limit; }));
    add("throttled_permille", tenant.throttled_permille);
    const bool known = std::any_of(tenant.shares.begin(), tenant.shares.end(),
                                   [](const auto& share) { return share.got_permille >= 0; });
    if (known)
      add("usage_permille", sumOf(tenant, [](const agent::ShareView& share) {
            return static_cast<std::uint64_t>(std::max(share.got_permille, 0));
          }));
  }
}

void Recorder::recordWorkloads(const std::vector<NodeReading>& readings, history::Instant now) {
  WorkloadUses uses;
  for (const NodeReading& reading : readings) {
    if (!reading.snapshot) continue;
    for (const agent::TenantView& tenant : reading.snapshot->tenants) {
      if (tenant.state != "running") continue;
      WorkloadUse& use = uses[localWorkloadKey(tenant.name, tenant.id)];
      ++use.shares;
      for (const agent::ShareView& share : tenant.shares) {
        const bool busy_known = share.got_permille >= 0 || share.utilisation >= 0;
        use.addPart(amount(std::max(share.used, share.resident + share.swapped)),
                    busy_known ? std::optional(usedPermilleOf(share)) : std::nullopt);
      }
    }
  }
  workloads_.record(uses, now);
}

void Recorder::recordOverview(const std::vector<NodeReading>& readings, Samples& samples) {
  std::int64_t used = 0, limits = 0, tenants = 0, waiting = 0, utilisation = 0, known = 0;
  for (const NodeReading& reading : readings) {
    // A sum without one of its parts would look like a fall.
    if (!reading.snapshot) return;
    for (const agent::DeviceView& device : reading.snapshot->devices) {
      used += amount(device.used);
      limits += amount(device.promised);
      known += device.utilisation >= 0 ? 1 : 0;
      utilisation += std::max(device.utilisation, 0) * kPermilleOfPercent;
    }
    tenants += static_cast<std::int64_t>(reading.snapshot->tenants.size());
    waiting += static_cast<std::int64_t>(reading.snapshot->queue.size());
  }
  if (readings.empty()) return;
  put(samples, "overview", "all", "memory_used_bytes", used);
  put(samples, "overview", "all", "memory_limits_bytes", limits);
  put(samples, "overview", "all", "tenants", tenants);
  put(samples, "overview", "all", "waiting", waiting);
  // The mean of the devices.
  if (known > 0) put(samples, "overview", "all", "utilisation_permille", utilisation / known);
}

void Recorder::recordUsage(const agent::Snapshot& node, history::Instant now) {
  for (const agent::DeviceView& device : node.devices) {
    history::Instant& last = devices_[device.uuid];
    if (last != history::Instant{} && now > last && now - last <= history::kMaxInterval)
      store_.addDevice({device.uuid, 0, last, now, amount(device.physical)});
    last = now;
  }
  for (const agent::TenantView& tenant : node.tenants) {
    const std::string id = shareId(node.node, tenant.id);
    const auto [at, is_new] = last_.try_emplace(id);
    const LastReading last = at->second;
    at->second.time = now;
    at->second.throttled_ms = tenant.throttled_ms;
    const history::Span passed = now - last.time;
    if (is_new || passed.count() <= 0 || passed > history::CounterReadings::kMaxGap) continue;
    const std::uint64_t throttled =
        tenant.throttled_ms >= last.throttled_ms ? tenant.throttled_ms - last.throttled_ms : 0;
    for (const agent::ShareView& share : tenant.shares) {
      history::UsageInterval interval{id, share.uuid, 0, last.time, now};
      interval.promised_bytes = amount(share.limit);
      interval.used_bytes = amount(share.used);
      interval.promised_compute_milli =
          std::min<std::int64_t>(share.cores * kPermilleOfPercent, kWhole);
      interval.device_ns = usedPermilleOf(share) * passed.count() * kNsPerMs / kWhole;
      interval.throttled_ms = amount(throttled);
      store_.addUsage(interval);
    }
  }
}

void Recorder::recordEvents(const NodeReading& reading) {
  for (const agent::EventView& event : reading.events) {
    history::Event kept;
    kept.time = history::Instant(history::Span(event.time_ms));
    if (kept.time <= kept_until_) continue;
    kept.kind = event.kind;
    kept.object = event.tenant.empty() ? std::string() : shareId(reading.node, event.tenant);
    kept.actor = event.by;
    kept.text = event.reason;
    store_.append(std::move(kept));
  }
}

void Recorder::recordObjects(const agent::Snapshot& node, history::Instant now) {
  for (const agent::DeviceView& device : node.devices) {
    history::Instant& named = named_[device.uuid];
    if (now - named < kSeenAgain) continue;
    named = now;
    history::ObjectRecord object;
    object.uid = device.uuid;
    object.kind = "device";
    object.name = node.node + '/' + std::to_string(device.index);
    object.model = device.model;
    object.first_seen = object.last_seen = now;
    store_.see(std::move(object));
  }
  for (const agent::TenantView& tenant : node.tenants) {
    const auto at = last_.find(shareId(node.node, tenant.id));
    if (at == last_.end()) continue;
    LastReading& last = at->second;
    const std::string& name = tenant.name.empty() ? tenant.id : tenant.name;
    if (last.name == name && now - last.name_seen < kSeenAgain) continue;
    last.name = name;
    last.name_seen = now;
    history::ObjectRecord object;
    object.uid = at->first;
    object.kind = "share";
    object.name = name;
    object.first_seen = object.last_seen = now;
    store_.see(std::move(object));
  }
}

// Shares that have ended are not looked at again.
void Recorder::forgetOld(history::Instant now) {
  std::set<std::string, std::less<>> ended;
  for (const auto& [share, last] : last_)
    if (now - last.time > history::CounterReadings::kMaxGap) ended.insert(share);
  if (ended.empty()) return;
  std::erase_if(last_, [&](const auto& entry) { return ended.contains(entry.first); });
  std::erase_if(ids_, [&](const auto& entry) { return ended.contains(entry.first.object); });
}

void Recorder::record(const std::vector<NodeReading>& readings, history::Instant now) {
  Samples samples;
  for (const NodeReading& reading : readings) {
    if (!reading.snapshot) continue;
    recordDevices(*reading.snapshot, samples);
    recordShares(*reading.snapshot, samples);
    recordUsage(*reading.snapshot, now);
    recordObjects(*reading.snapshot, now);
    recordEvents(reading);
  }
  recordOverview(readings, samples);
  recordWorkloads(readings, now);
  store_.append(now, samples);
  forgetOld(now);
}

}  // namespace divvy::console
