#include "recording/workload_recorder.h"

#include <algorithm>

#include "history/counter.h"
#include "rows/workload_key.h"

namespace divvy::console {
namespace {

constexpr history::Span kWindow{300'000};
constexpr std::chrono::hours kForget{1};
// A series ends 24 hours after its last value.
constexpr std::chrono::hours kAskAgain{12};
// After the store was full of series.
constexpr std::chrono::minutes kTryAgain{1};

void takeLarger(std::optional<std::int64_t>& figure, std::optional<std::int64_t> other) {
  if (other) figure = std::max(figure.value_or(*other), *other);
}

}  // namespace

void WorkloadUse::addPart(std::optional<std::int64_t> memory, std::optional<std::int64_t> busy) {
  takeLarger(memory_bytes, memory);
  takeLarger(busy_permille, busy);
}

void WorkloadRecorder::put(Samples& samples, Line& line, const std::string& object,
                           std::string_view metric, std::int64_t value, history::Instant now) {
  const bool old = now - line.put > kAskAgain;
  if ((!line.id || old) && now - line.asked > kTryAgain) {
    const Result<history::SeriesId> id = store_.series(
        {kWorkloadKind, workloadObject(object), std::string(metric)}, history::SeriesType::kGauge);
    line.id = id ? std::optional(*id) : std::nullopt;
    line.asked = now;
  }
  if (!line.id) return;
  line.put = now;
  samples.push_back({*line.id, value});
}

void WorkloadRecorder::add(Samples& samples, const std::string& key, const WorkloadUse& use,
                           history::Instant now) {
  auto at = workloads_.find(key);
  if (at == workloads_.end()) {
    if (workloads_.size() >= kMaxWorkloads) return;
    at = workloads_.try_emplace(key).first;
  }
  Workload& workload = at->second;
  const std::int64_t hour = history::hourOf(now);
  if (workload.hour != hour) workload.running_ms = 0;
  workload.hour = hour;
  const history::Span passed = now - last_;
  const bool ran = workload.seen != history::Instant{} && workload.seen == last_;
  if (ran && passed.count() > 0 && passed <= history::CounterReadings::kMaxGap)
    workload.running_ms += passed.count() * use.shares;
  workload.seen = now;
  put(samples, workload.running, key, kRunningMetric, workload.running_ms, now);
  if (use.memory_bytes) put(samples, workload.peak, key, kPeakMetric, *use.memory_bytes, now);
  if (!use.busy_permille) return;
  workload.busy_sum += *use.busy_permille;
  ++workload.readings;
}

void WorkloadRecorder::putMeans(Samples& samples, history::Instant now) {
  for (auto& [key, workload] : workloads_) {
    if (workload.readings == 0) continue;
    put(samples, workload.busy, key, kBusyMetric, workload.busy_sum / workload.readings, now);
    workload.busy_sum = workload.readings = 0;
  }
}

void WorkloadRecorder::record(const WorkloadUses& uses, history::Instant now) {
  Samples samples;
  const std::int64_t window = now.time_since_epoch() / kWindow;
  if (window != window_) putMeans(samples, now);
  window_ = window;
  for (const auto& [key, use] : uses) add(samples, key, use, now);
  store_.append(now, samples);
  std::erase_if(workloads_, [&](const auto& entry) { return now - entry.second.seen > kForget; });
  last_ = now;
}

}  // namespace divvy::console
