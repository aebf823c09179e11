#include "cluster_console/agent_usage.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "metrics/samples.h"

namespace divvy::cli {
namespace {

constexpr double kWholePercent = 100;
constexpr double kWholePermille = 1000;
constexpr double kMsPerSecond = 1000;
// More than any amount, and far from the end of 64 bits.
constexpr double kMaxAmount = 1e18;

std::uint64_t amount(double value) {
  return static_cast<std::uint64_t>(std::min(std::max(value, 0.0), kMaxAmount));
}

void addDevice(const metrics::Sample& sample, AgentUsage* use) {
  console::DeviceUse& device = use->devices[std::string(sample.label("device"))];
  if (sample.name == "divvy_device_memory_used_bytes") device.memory_used = amount(sample.value);
  if (sample.name == "divvy_device_utilisation_ratio")
    device.utilisation_percent = std::round(sample.value * kWholePercent);
}

void addShare(const metrics::Sample& sample, AgentUsage* use) {
  const std::string pod(sample.label("pod"));
  if (pod.empty()) return;
  console::ShareUse& share =
      use->shares[{std::string(sample.label("namespace")), pod,
                   std::string(sample.label("container")), std::string(sample.label("device"))}];
  const std::string_view name = sample.name;
  if (name == "divvy_tenant_memory_used_bytes") share.memory_used = amount(sample.value);
  if (name == "divvy_tenant_memory_resident_bytes") share.memory_resident = amount(sample.value);
  if (name == "divvy_tenant_memory_swapped_bytes") share.memory_swapped = amount(sample.value);
  if (name == "divvy_tenant_compute_usage_ratio")
    share.usage_permille = std::round(sample.value * kWholePermille);
  // Of a share that is not charged, as the only one of its device, the driver's figure counts. The
  // order of families is not known.
  if (name == "divvy_tenant_utilisation_ratio" && !share.usage_permille)
    share.usage_permille = std::round(sample.value * kWholePermille);
  if (name == "divvy_tenant_idle_seconds") share.idle_ms = amount(sample.value * kMsPerSecond);
}

}  // namespace

AgentUsage agentUsageOf(std::string_view text) {
  AgentUsage use;
  const std::vector<std::string_view> devices{"divvy_device_memory_used_bytes",
                                              "divvy_device_utilisation_ratio"};
  const std::vector<std::string_view> shares{
      "divvy_tenant_memory_used_bytes",    "divvy_tenant_memory_resident_bytes",
      "divvy_tenant_memory_swapped_bytes", "divvy_tenant_compute_usage_ratio",
      "divvy_tenant_utilisation_ratio",    "divvy_tenant_idle_seconds"};
  metrics::readSamples(text, devices, [&](const auto& sample) { addDevice(sample, &use); });
  metrics::readSamples(text, shares, [&](const auto& sample) { addShare(sample, &use); });
  return use;
}

}  // namespace divvy::cli
