#include "simulator/scenario.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "day/series.h"
#include "yaml/reader.h"

namespace divvy::simulator {
namespace {

constexpr std::size_t kMaxListed = 64;
constexpr std::size_t kMaxDaily = 8;
constexpr std::size_t kMaxBytes = 1u << 20;
constexpr std::uint32_t kMaxNodes = 20'000;
constexpr std::uint32_t kMaxGpus = 64;
constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMaxMs = 30ll * 24 * 3600 * kSecond;
constexpr double kMaxHours = 24 * 31;

// "90s", "5m", "6h": whole milliseconds.
void readTime(YamlReader& read, const YAML::Node& map, const char* key, std::int64_t least,
              std::int64_t* out) {
  std::string text;
  read.text(map, key, &text);
  if (text.empty()) return;
  double value = 0;
  const auto [end, fault] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const std::string unit(end, static_cast<const char*>(text.data() + text.size()));
  const double scale = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  const double ms = value * scale * static_cast<double>(kSecond);
  if (fault == std::errc{} && scale > 0 && ms >= static_cast<double>(least) &&
      ms <= static_cast<double>(kMaxMs)) {
    *out = static_cast<std::int64_t>(ms);
    return;
  }
  read.fail(map[key], "is no time; accepted: " + std::string(least > 0 ? "1s" : "0s") +
                          " to 720h, as 90s, 5m, 6h");
}

// Names go to tables, JSON and pictures.
void readName(YamlReader& read, const YAML::Node& map, std::string* out) {
  read.require(map, "name");
  read.text(map, "name", out);
  const bool plain = std::all_of(out->begin(), out->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!plain || out->size() > 40)
    read.fail(map["name"], "is no name; accepted: up to 40 letters, digits, - _ and .");
}

Cluster readCluster(YamlReader& read, const YAML::Node& map) {
  Cluster cluster;
  if (!read.map(map, {"name", "nodes", "gpus", "gpu_memory", "host_memory", "link", "price"}))
    return cluster;
  readName(read, map, &cluster.name);
  read.require(map, "gpu_memory");
  read.number(map, "nodes", 1u, kMaxNodes, &cluster.nodes);
  read.number(map, "gpus", 1u, kMaxGpus, &cluster.gpus);
  read.bytes(map, "gpu_memory", &cluster.gpu_memory);
  if (cluster.gpu_memory > gib(4096))
    read.fail(map["gpu_memory"], "is too much; accepted: at most 4 TiB");
  read.bytes(map, "host_memory", &cluster.host_memory);
  if (cluster.host_memory > gib(1u << 17))
    read.fail(map["host_memory"], "is too much; accepted: at most 128 TiB");
  read.decimal(map, "link", 0.1, 10'000, &cluster.link);
  read.decimal(map, "price", 0, 1'000'000, &cluster.price);
  return cluster;
}

void readDuty(YamlReader& read, const YAML::Node& workload, bool batch, Duty* out) {
  const auto map = read.child(workload, "duty",
                              {"mean", "trough", "peak", "busy", "spread", "burst", "peak_hour"});
  if (!map) return;
  read.require(*map, "mean");
  read.decimal(*map, "mean", 0.01, 100, &out->mean);
  out->trough = out->peak = out->mean;
  // A batch job works all the time; others half of it, unless it is said.
  out->busy = batch ? out->mean : std::min(2 * out->mean, 100.0);
  read.decimal(*map, "trough", 0, 100, &out->trough);
  read.decimal(*map, "peak", 0.01, 100, &out->peak);
  if (out->trough > out->mean || out->peak < out->mean)
    read.fail((*map)["mean"], "is not between trough and peak; accepted: trough <= mean <= peak");
  read.decimal(*map, "busy", 0.1, 100, &out->busy);
  read.decimal(*map, "spread", 0, 3, &out->spread);
  readTime(read, *map, "burst", kSecond, &out->burst_ms);
  read.decimal(*map, "peak_hour", 0, 24, &out->peak_hour);
}

void readPods(YamlReader& read, const YAML::Node& map, DayWorkload* out) {
  const bool batch = out->kind == PodKind::kBatch;
  for (const char* key : {"per_hour", "length", "length_spread", "checkpoint"}) {
    if (!batch && !read.error() && map[key])
      read.fail(map[key], std::string(key) + " is not of a service; accepted: of kind batch");
  }
  for (const char* key : {"count", "lifetime", "idle_stop"}) {
    if (batch && !read.error() && map[key])
      read.fail(map[key], std::string(key) + " is not of a batch; accepted: per_hour, length");
  }
  if (batch) {
    read.require(map, "per_hour");
    read.require(map, "length");
  }
  if (out->kind == PodKind::kSandbox) read.require(map, "idle_stop");
  if (out->kind == PodKind::kService && !read.error() && map["idle_stop"])
    read.fail(map["idle_stop"], "is not of a service; accepted: of kind sandbox");
  read.number(map, "count", 1u, kMaxPodsAtOnce, &out->count);
  readTime(read, map, "lifetime", 60 * kSecond, &out->lifetime_ms);
  readTime(read, map, "idle_stop", 60 * kSecond, &out->idle_stop_ms);
  readTime(read, map, "start", 0, &out->start_ms);
  read.decimal(map, "per_hour", 0.001, 100'000, &out->per_hour);
  readTime(read, map, "length", kSecond, &out->length_ms);
  read.decimal(map, "length_spread", 0, 2, &out->length_spread);
  readTime(read, map, "checkpoint", kSecond, &out->checkpoint_ms);
}

DayWorkload readWorkload(YamlReader& read, const YAML::Node& map) {
  DayWorkload workload;
  if (!read.map(map, {"name", "kind", "count", "priority", "memory", "guarantee", "cores", "duty",
                      "lifetime", "idle_stop", "start", "per_hour", "length", "length_spread",
                      "checkpoint"}))
    return workload;
  readName(read, map, &workload.name);
  for (const char* key : {"kind", "memory", "duty"}) read.require(map, key);
  std::size_t kind = 0, urgency = 1;
  read.word(map, "kind", {"service", "sandbox", "batch"}, &kind);
  read.word(map, "priority", {"high", "normal", "low"}, &urgency);
  workload.kind = static_cast<PodKind>(kind);
  workload.urgency = static_cast<Urgency>(urgency);
  read.bytes(map, "memory", &workload.memory);
  read.bytes(map, "guarantee", &workload.guarantee);
  if (workload.guarantee > workload.memory)
    read.fail(map["guarantee"], "is more than memory; accepted: at most that");
  read.number(map, "cores", 1u, 100u, &workload.cores);
  readDuty(read, map, workload.kind == PodKind::kBatch, &workload.duty);
  readPods(read, map, &workload);
  return workload;
}

// Days do not count; decide among equals; and also peaks above so many cards are avoided.
engine::UsageByHourPolicy readDaily(YamlReader& read, const YAML::Node& item) {
  const std::string word = item.IsScalar() ? item.Scalar() : "";
  if (word == "off") return {};
  if (word == "ties") return {true, 0};
  double cards = 0;
  const auto [end, fault] =
      std::from_chars(word.data(), word.data() + word.size(), cards, std::chars_format::fixed);
  if (fault == std::errc{} && end == word.data() + word.size() && cards >= 0.1 && cards <= 4)
    return {true, static_cast<std::uint32_t>(cards * 1000 + 0.5)};
  read.fail(item, "is no way to look at days; accepted: off, ties, a number from 0.1 to 4");
  return {};
}

void readSharing(YamlReader& read, const YAML::Node& root, Sharing* out) {
  const auto map =
      read.child(root, "sharing", {"overcommit", "slots", "policy", "daily", "preempt"});
  if (!map) return;
  std::vector<std::uint32_t> overcommit;
  read.list(*map, "overcommit", [&](const YAML::Node& item) {
    overcommit.push_back(static_cast<std::uint32_t>(read.decimalOf(item, 1, 4) * 1000 + 0.5));
    if (overcommit.size() > 1 && overcommit.back() <= overcommit[overcommit.size() - 2])
      read.fail(item, "does not ascend; accepted: ascending numbers from 1 to 4");
  });
  if (!overcommit.empty()) out->overcommit = overcommit;
  read.number(*map, "slots", 1u, 1000u, &out->slots);
  std::string name;
  read.text(*map, "policy", &name);
  if (!name.empty()) {
    const Result<engine::Policy> parsed = engine::parsePolicy(name);
    if (parsed)
      out->policy = *parsed;
    else
      read.fail((*map)["policy"], parsed.error().message());
  }
  std::vector<engine::UsageByHourPolicy> daily;
  read.list(*map, "daily", [&](const YAML::Node& item) { daily.push_back(readDaily(read, item)); });
  if (daily.size() > kMaxDaily)
    read.fail((*map)["daily"], "is too many; accepted: up to " + std::to_string(kMaxDaily));
  if (!daily.empty()) out->daily = daily;
  read.flag(*map, "preempt", &out->preempt);
}

// What no single key can say.
void check(YamlReader& read, const YAML::Node& root, const Scenario& scenario) {
  Bytes largest;
  std::set<std::string> names;
  for (std::size_t i = 0; i < scenario.clusters.size(); ++i) {
    largest = std::max(largest, scenario.clusters[i].gpu_memory);
    if (!names.insert(scenario.clusters[i].name).second)
      read.fail(root["clusters"][i], "a second cluster of that name; accepted: different names");
  }
  names.clear();
  std::uint64_t pods = 0;
  for (std::size_t i = 0; i < scenario.workloads.size(); ++i) {
    const DayWorkload& workload = scenario.workloads[i];
    const YAML::Node at = root["workloads"][i];
    if (!names.insert(workload.name).second)
      read.fail(at, "a second workload of that name; accepted: different names");
    const double reached = 100 * kMaxBusy * DayShape(workload.duty).rate();
    if (workload.kind != PodKind::kBatch && workload.duty.peak > reached)
      read.fail(at["duty"], "has a peak that work at its rate never reaches; accepted: at most " +
                                std::to_string(static_cast<int>(reached)));
    if (workload.memory > largest)
      read.fail(at["memory"],
                "is more than any device has; accepted: at most " + formatBytes(largest));
    const double lives =
        workload.lifetime_ms > 0
            ? 1 + scenario.hours * 3'600'000 / static_cast<double>(workload.lifetime_ms)
            : 1;
    pods += workload.kind == PodKind::kBatch
                ? static_cast<std::uint64_t>(workload.per_hour * scenario.hours)
                : static_cast<std::uint64_t>(workload.count * lives);
    const double bursts = scenario.hours * 3'600'000 / static_cast<double>(workload.duty.burst_ms);
    if (workload.kind != PodKind::kBatch && bursts * workload.count > 20'000'000)
      read.fail(at, "has more than 20 million bursts; accepted: fewer, or longer ones");
  }
  if (pods > 2'000'000)
    read.fail(root["workloads"], "come to more than 2 million pods; accepted: fewer");
}

}  // namespace

Result<Scenario> parseScenario(std::string_view text, const std::string& file) {
  YamlReader read(file);
  Scenario scenario;
  if (text.size() > kMaxBytes) {
    return Error{ErrorCode::kUsage, file + ":1:1: larger than " + formatBytes({kMaxBytes}) +
                                        "; accepted: at most that"};
  }
  const auto root = read.parse(std::string(text));
  if (!root) return *read.error();
  if (read.map(*root, {"name", "claim", "sources", "hours", "clusters", "workloads", "sharing"})) {
    readName(read, *root, &scenario.name);
    read.text(*root, "claim", &scenario.claim);
    read.list(*root, "sources", [&](const YAML::Node& item) {
      if (!item.IsScalar())
        read.fail(item, "is not text; accepted: text");
      else
        scenario.sources.push_back(item.Scalar());
    });
    read.decimal(*root, "hours", 0.1, kMaxHours, &scenario.hours);
    for (const char* key : {"clusters", "workloads"}) read.require(*root, key);
    const auto few = [&](const YAML::Node& item, std::size_t count) {
      if (count >= kMaxListed) read.fail(item, "is one too many; accepted: up to 64");
      return count < kMaxListed;
    };
    read.list(*root, "clusters", [&](const YAML::Node& item) {
      if (!few(item, scenario.clusters.size())) return;
      scenario.clusters.push_back(readCluster(read, item));
    });
    read.list(*root, "workloads", [&](const YAML::Node& item) {
      if (!few(item, scenario.workloads.size())) return;
      scenario.workloads.push_back(readWorkload(read, item));
    });
    readSharing(read, *root, &scenario.sharing);
    if (!read.error()) check(read, *root, scenario);
  }
  if (read.error()) return *read.error();
  return scenario;
}

}  // namespace divvy::simulator
