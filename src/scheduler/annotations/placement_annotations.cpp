#include "annotations/placement_annotations.h"

#include <charconv>
#include <string>

#include "engine/policy.h"
#include "engine/usage_by_hour_text.h"

namespace divvy::scheduler {
namespace {

constexpr std::string_view kHamiNodePolicy = "hami.io/node-scheduler-policy";
constexpr std::string_view kHamiDevicePolicy = "hami.io/gpu-scheduler-policy";
constexpr std::string_view kHamiWeights = "hami.io/device-scoring-weights";
constexpr std::string_view kHamiNuma = "nvidia.com/numa-bind";

// White space around it does not count; empty: not stated.
std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\n") - from + 1);
}

struct Said {
  std::string_view key, value;
};

// The first of the keys with a value.
Said said(const kube::Labels& annotations, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const auto found = annotations.find(std::string(key));
    if (found == annotations.end()) continue;
    const std::string_view value = trimmed(found->second);
    if (!value.empty()) return {key, value};
  }
  return {};
}

Error fault(const Said& what, const std::string& why) {
  return {ErrorCode::kUsage, "annotation " + std::string(what.key) + ": \"" +
                                 std::string(what.value) + "\" is not accepted; " + why};
}

// "slot=1,core=1,memory=3": each once.
Result<engine::UseWeights> weightsOf(const Said& what) {
  const auto bad = [&] {
    return fault(what, "slot=N,core=N,memory=N is, with whole numbers that are not all 0");
  };
  engine::UseWeights weights{0, 0, 0};
  struct Part {
    std::string_view word;
    std::uint32_t* to;
    bool seen = false;
  };
  std::array<Part, 3> parts{Part{"slot", &weights.slots}, Part{"core", &weights.compute},
                            Part{"memory", &weights.memory}};
  std::string_view rest = what.value;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return bad();
    const std::string_view word = trimmed(item.substr(0, equals));
    const std::string_view number = trimmed(item.substr(equals + 1));
    bool good = false;
    for (Part& part : parts) {
      if (part.word != word || part.seen) continue;
      part.seen = true;
      const char* end = number.data() + number.size();
      const auto [at, failed] = std::from_chars(number.data(), end, *part.to);
      good = failed == std::errc{} && at == end;
    }
    if (!good) return bad();
  }
  for (const Part& part : parts)
    if (!part.seen) return bad();
  if (weights == engine::UseWeights{0, 0, 0}) return bad();
  return weights;
}

// As Go's strconv.ParseBool has it.
Result<bool> truth(const Said& what) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (what.value == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"})
    if (what.value == no) return false;
  return fault(what, "true and false are");
}

Result<void> readDevices(const kube::Labels& annotations, const engine::DevicePolicy& base,
                         engine::Shape* shape) {
  engine::DevicePolicy devices = base;
  const Said policy = said(annotations, {kDevicePolicy, kHamiDevicePolicy});
  if (!policy.key.empty()) {
    const Result<engine::DevicePolicy> parsed = engine::parseDevicePolicy(policy.value);
    if (!parsed) return Error(parsed.error()).context("annotation " + std::string(policy.key));
    devices = *parsed;
    devices.use = base.use;
  }
  const Said weights = said(annotations, {kHamiWeights});
  if (!weights.key.empty()) {
    const Result<engine::UseWeights> parsed = weightsOf(weights);
    if (!parsed) return parsed.error();
    devices.use = *parsed;
  }
  const Said numa = said(annotations, {kHamiNuma});
  if (!numa.key.empty()) {
    const Result<bool> bind = truth(numa);
    if (!bind) return bind.error();
    if (*bind) devices.numa = engine::Preference::kRequired;
  }
  if (devices != base) shape->devices = devices;
  return {};
}

}  // namespace

Result<engine::DevicePolicy> withLinks(const kube::Labels& annotations, engine::DevicePolicy base,
                                       const vendors::LinkRule& rule) {
  bool wanted = rule.preferred;
  const Said own = said(annotations, {rule.annotation});
  if (!own.key.empty()) {
    const Result<bool> read = truth(own);
    if (!read) return read.error();
    wanted = *read;
  }
  if (wanted && base.links == engine::Preference::kNone)
    base.links = engine::Preference::kPreferred;
  return base;
}

Result<std::optional<engine::UsageByHour>> expectedUse(const kube::Labels& annotations) {
  const Said use = said(annotations, {kExpectedUse});
  if (use.key.empty()) return std::optional<engine::UsageByHour>();
  const Result<engine::UsageByHour> daily = engine::parseDaily(use.value);
  if (!daily) return Error(daily.error()).context("annotation " + std::string(use.key));
  return std::optional(*daily);
}

engine::PoolName poolNamed(std::string_view value) {
  return engine::PoolName(value == "none" ? std::string() : std::string(value));
}

Result<void> readPreferences(const kube::Labels& annotations, const engine::DevicePolicy& base,
                             engine::Shape* shape) {
  const Said node = said(annotations, {kNodePolicy, kHamiNodePolicy});
  if (!node.key.empty()) {
    const Result<engine::Policy> policy = engine::parsePolicy(node.value);
    if (!policy) return Error(policy.error()).context("annotation " + std::string(node.key));
    shape->policy = *policy;
  }
  const Said pool = said(annotations, {kPool});
  if (!pool.key.empty()) shape->pool = poolNamed(pool.value);
  const Result<std::optional<engine::UsageByHour>> use = expectedUse(annotations);
  if (!use) return use.error();
  shape->daily = *use;
  return readDevices(annotations, base, shape);
}

}  // namespace divvy::scheduler
