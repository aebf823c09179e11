#include "recording/cluster_recorder.h"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>

#include "history/counter.h"
#include "rows/cluster_rows.h"
#include "rows/workload_key.h"

namespace divvy::console {
namespace {

constexpr std::int64_t kMilliOfPercent = 10;
constexpr double kPermilleOfPercent = 10;
constexpr std::int64_t kWhole = 1000;
constexpr std::int64_t kNsPerMs = 1'000'000;
// The store removes objects that were not seen for long.
constexpr std::chrono::hours kSeenAgain{1};

std::int64_t amount(std::uint64_t bytes) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, history::kMaxValue));
}

std::string textOf(const ListRow& row, const char* member) {
  const boost::json::value& value = row.at(member);
  return value.is_string() ? std::string(value.get_string()) : std::string();
}

// Usage that is not known counts as none: the integrals of shares are lower bounds.
std::uint64_t numberOf(const boost::json::value& part, const char* member) {
  const boost::json::value& value = part.at(member);
  return value.is_null() ? 0 : static_cast<std::uint64_t>(value.to_number<double>());
}

std::optional<std::int64_t> knownOf(const boost::json::value& part, const char* member) {
  if (part.at(member).is_null()) return std::nullopt;
  return static_cast<std::int64_t>(numberOf(part, member));
}

// An agent that does not tell the place of memory tells its amount.
std::optional<std::int64_t> memoryOf(const boost::json::value& part) {
  const auto resident = knownOf(part, "resident_bytes"), swapped = knownOf(part, "swapped_bytes");
  if (!resident || !swapped) return knownOf(part, "used_bytes");
  return amount(static_cast<std::uint64_t>(*resident) + static_cast<std::uint64_t>(*swapped));
}

history::ObjectRecord objectOf(const ListRow& share, history::Instant now) {
  history::ObjectRecord object;
  object.uid = textOf(share, "id");
  object.kind = "share";
  object.name = textOf(share, "name");
  object.namespace_name = textOf(share, "namespace");
  object.team = textOf(share, "team");
  object.queue = textOf(share, "queue");
  object.owner = textOf(share, "owner");
  object.image = textOf(share, "image");
  object.model = textOf(share, "model_served");
  object.first_seen = object.last_seen = now;
  return object;
}

}  // namespace

void ClusterRecorder::put(Samples& samples, const char* kind, const std::string& object,
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

void ClusterRecorder::recordSeries(const ClusterReading& reading, const ConsoleView& view,
                                   history::Instant now) {
  Samples samples;
  std::int64_t limits = 0, used = 0;
  std::size_t used_known = 0;
  for (const scheduler::DeviceUsage& device : reading.devices) {
    limits += amount(device.promised.count);
    put(samples, "device", deviceId(device), "memory_limits_bytes", amount(device.promised.count));
    put(samples, "device", deviceId(device), "tenants", device.tenants);
    const auto use = reading.device_use.find(deviceId(device));
    if (use == reading.device_use.end()) continue;
    if (use->second.memory_used) {
      ++used_known;
      used += amount(*use->second.memory_used);
      put(samples, "device", deviceId(device), "memory_used_bytes",
          amount(*use->second.memory_used));
    }
    if (use->second.utilisation_percent)
      put(samples, "device", deviceId(device), "utilisation_permille",
          std::llround(*use->second.utilisation_percent * kPermilleOfPercent));
  }
  // A sum without one of its parts would look like a fall.
  const bool all_known = used_known == reading.devices.size();
  if (all_known) put(samples, "overview", "all", "memory_used_bytes", used);
  put(samples, "overview", "all", "memory_limits_bytes", limits);
  put(samples, "overview", "all", "tenants", static_cast<std::int64_t>(view.shares.size()));
  put(samples, "overview", "all", "waiting", static_cast<std::int64_t>(view.waiting.size()));
  store_.append(now, samples);
}

void ClusterRecorder::recordDevices(const ClusterReading& reading, history::Instant now) {
  for (const scheduler::DeviceUsage& device : reading.devices) {
    const std::string id = deviceId(device);
    store_.addDevice({id, 0, last_, now, amount(device.memory.count)});
    history::Instant& told = recorded_devices_[id];
    if (now - told < kSeenAgain) continue;
    history::ObjectRecord object;
    object.uid = id;
    object.kind = "device";
    object.name = device.node + '/' + std::to_string(device.index);
    object.model = device.model;
    object.first_seen = object.last_seen = now;
    store_.see(std::move(object));
    told = now;
  }
}

void ClusterRecorder::recordShares(const ConsoleView& view, history::Instant now) {
  for (const auto& [id, share] : view.shares) {
    history::Instant& told = recorded_[id];
    if (now - told >= kSeenAgain) {
      store_.see(objectOf(*share, now));
      told = now;
    }
    for (const boost::json::value& part : share->at("devices").get_array()) {
      history::UsageInterval interval{id, std::string(part.at("id").get_string()), 0, last_, now};
      interval.promised_bytes = amount(part.at("limit_bytes").to_number<std::uint64_t>());
      interval.used_bytes = amount(numberOf(part, "used_bytes"));
      interval.device_ns = static_cast<std::int64_t>(numberOf(part, "usage_permille")) *
                           (now - last_).count() * kNsPerMs / kWhole;
      interval.promised_compute_milli = std::min(
          static_cast<std::int64_t>(part.at("cores_percent").to_number<double>() * kMilliOfPercent),
          kWhole);
      store_.addUsage(interval);
    }
  }
  std::erase_if(recorded_, [&](const auto& entry) { return !view.shares.contains(entry.first); });
}

void ClusterRecorder::recordWorkloads(const ConsoleView& view, history::Instant now) {
  WorkloadUses uses;
  for (const auto& [id, share] : view.shares) {
    if (textOf(*share, "state") != "running") continue;
    WorkloadUse& use = uses[clusterWorkloadKey(*share)];
    ++use.shares;
    for (const boost::json::value& part : share->at("devices").get_array())
      use.addPart(memoryOf(part), knownOf(part, "usage_permille"));
  }
  workloads_.record(uses, now);
}

void ClusterRecorder::record(const ClusterReading& reading, const ConsoleView& view,
                             history::Instant now) {
  const bool complete =
      std::all_of(reading.collections.begin(), reading.collections.end(),
                  [](const ClusterCollection& one) { return one.failure.empty(); });
  if (!complete) {
    last_ = {};
    return;
  }
  recordSeries(reading, view, now);
  recordWorkloads(view, now);
  // A longer interval has a gap in it.
  if (last_ != history::Instant{} && now > last_ &&
      now - last_ <= history::CounterReadings::kMaxGap) {
    recordDevices(reading, now);
    recordShares(view, now);
  }
  last_ = now;
}

}  // namespace divvy::console
