#include "policy/weights.h"

#include <algorithm>
#include <array>

namespace divvy::arbiter {
namespace {

constexpr Weight kOnePercent = kWholeWeight / 100;

struct GuaranteeSum {
  Weight guaranteed = 0;
  Weight unclaimed = 0;  // tenants without a guarantee
};

template <typename Fn>
void forEachDevice(std::uint32_t devices, Fn&& fn) {
  for (unsigned device = 0; device < kMaxGroupDevices; ++device)
    if (devices >> device & 1) fn(device);
}

void setWeight(Tenant* tenant, const std::array<GuaranteeSum, kMaxGroupDevices>& sums) {
  if (tenant->terms.guarantee > 0) {
    tenant->weight = Weight{tenant->terms.guarantee} * kOnePercent;
    return;
  }
  Weight smallest = kWholeWeight;
  forEachDevice(tenant->terms.devices, [&](unsigned device) {
    const GuaranteeSum& there = sums[device];
    const Weight rest = std::max(kWholeWeight - there.guaranteed, Weight{0});
    smallest = std::min(smallest, std::max(rest / there.unclaimed, kOnePercent));
  });
  tenant->weight = smallest;
}

void setPercent(Tenant* tenant) {
  unsigned smallest = 100;
  forEachDevice(tenant->terms.devices, [&](unsigned device) {
    Weight sum = tenant->weight;
    for (const Tenant* rival : tenant->rivals)
      if (rival->terms.devices >> device & 1) sum += rival->weight;
    smallest = std::min(smallest, static_cast<unsigned>((tenant->weight * 100 + sum / 2) / sum));
  });
  tenant->percent = smallest;
}

}  // namespace

void weigh(const std::vector<std::unique_ptr<Tenant>>& tenants) {
  std::array<GuaranteeSum, kMaxGroupDevices> sums{};
  for (const auto& tenant : tenants) {
    if (!tenant->active()) continue;
    forEachDevice(tenant->terms.devices, [&](unsigned device) {
      sums[device].guaranteed += Weight{tenant->terms.guarantee} * kOnePercent;
      if (tenant->terms.guarantee == 0) ++sums[device].unclaimed;
    });
  }
  for (const auto& tenant : tenants)
    if (tenant->active()) setWeight(tenant.get(), sums);
  for (const auto& tenant : tenants)
    if (tenant->active()) setPercent(tenant.get());
}

}  // namespace divvy::arbiter
