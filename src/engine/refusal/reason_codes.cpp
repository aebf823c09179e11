#include <array>
#include <cstddef>

#include "engine/refusal.h"

namespace divvy::engine {
namespace {

// In the order of the enumeration; the test repo_reasons compares both.
constexpr std::array<std::string_view, 31> kDeviceCodes{
    "kind",
    "not-in-pool",
    "unhealthy",
    "cordoned",
    "held-by-other-plugin",
    "previous-pool-tenants",
    "partitioned",
    "model-not-asked",
    "model-excluded",
    "uuid-not-asked",
    "uuid-excluded",
    "no-part",
    "exclusive-only",
    "slots",
    "split",
    "colocation",
    "too-large",
    "budget",
    "over-promise-limit",
    "guarantee-above-share",
    "below-context",
    "memory",
    "guarantee-conflict",
    "overcommit",
    "guarantee",
    "host-reserve",
    "compute",
    "cpus",
    "no-placement",
    "in-use",
    "held",
};
static_assert(kDeviceCodes.size() == static_cast<std::size_t>(DeviceWhy::kHeld) + 1);

constexpr std::array<std::string_view, 13> kNodeCodes{
    "node-cordoned", "node-cpu",        "node-memory",       "node-too-few", "node-devices",
    "node-blocks",   "node-row",        "node-numa",         "node-links",   "node-nic",
    "node-together", "node-unresolved", "node-not-searched",
};
static_assert(kNodeCodes.size() == static_cast<std::size_t>(NodeWhy::kNotSearched) + 1);

}  // namespace

std::string_view codeOf(DeviceWhy why) {
  return kDeviceCodes.at(static_cast<std::size_t>(why));
}

std::string_view codeOf(NodeWhy why) {
  return kNodeCodes.at(static_cast<std::size_t>(why));
}

}  // namespace divvy::engine
