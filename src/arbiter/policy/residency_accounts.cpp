#include "policy/residency_accounts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "policy/parking.h"

namespace divvy::arbiter {
namespace {

// Far above any device, and far below an overflow of sums.
constexpr std::uint64_t kBoundless = std::uint64_t{1} << 50;

std::uint64_t budgetOf(const ResidencyAccounts::Device& device) {
  return device.terms.budget == 0 ? kBoundless * 64 : device.terms.budget;
}

std::uint64_t ceilingOf(const Resident& resident, unsigned device) {
  const std::uint64_t asked = resident.terms.ceiling[device];
  return std::clamp(asked, resident.terms.base[device], kBoundless);
}

std::uint64_t less(std::uint64_t from, std::uint64_t what) {
  return from - std::min(from, what);
}

std::uint64_t floorOf(const Resident& resident, unsigned device) {
  if (!resident.terms.swappable) return ceilingOf(resident, device);
  const Resident::DeviceResidency& place = resident.places[device];
  if (resident.terms.parked) return resident.reserved ? place.reported.swappable : 0;
  if (resident.park && resident.terms.parkable) return 0;
  const std::uint64_t fixed = place.reported.pinned + place.want;
  const std::uint64_t kept =
      std::min(place.reported.swappable, less(resident.terms.guarantee[device], fixed));
  return std::max(fixed + kept, resident.terms.base[device]);
}

}  // namespace

Resident* ResidencyAccounts::find(TenantKey key) const {
  for (const auto& resident : residents_)
    if (resident->key == key) return resident.get();
  return nullptr;
}

Resident& ResidencyAccounts::add(TenantKey key, const ResidencyEntitlement& terms, Nanos now) {
  residents_.push_back(std::make_unique<Resident>(key, terms, now));
  return *residents_.back();
}

void ResidencyAccounts::remove(TenantKey key) {
  std::erase_if(residents_, [&](const auto& resident) { return resident->key == key; });
}

// The tenant's ledger enforces its ceiling, so reports above it are clamped.
void ResidencyAccounts::bound(Resident* resident, ResidencyReport* stay) const {
  if (resident->terms.parked) return reportParked(*resident, stay);
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    ResidentBytes& reported = stay->at[d];
    if (!resident->uses(d)) reported = ResidentBytes{};
    const std::uint64_t ceiling = ceilingOf(*resident, d);
    reported.pinned = std::min(reported.pinned, ceiling);
    reported.want = std::min(reported.want, ceiling - reported.pinned);
    reported.swappable = std::min(reported.swappable, ceiling - reported.pinned - reported.want);
    reported.mapped = std::min(reported.mapped, ceiling);
    reported.held = std::min(std::max(reported.held, reported.mapped + reported.pinned), ceiling);
    if (stay->distrusted)
      reported.held = std::max(reported.held, reported.pinned + reported.want + reported.swappable);
    if (!resident->terms.swappable) reported.held = resident->uses(d) ? ceiling : 0;
  }
}

// Memory of the first report was allowed by another policy, or without one.
void ResidencyAccounts::adopt(Resident* resident, Nanos now) {
  resident->known = true;
  for (Resident::DeviceResidency& place : resident->places) {
    place.allowed = std::max(place.allowed, place.reported.held);
    place.goal = std::max(place.goal, place.allowed);
  }
  resident->granted_at = resident->ready_at = now;
}

bool ResidencyAccounts::note(Resident* resident, const ResidencyReport& stay, Nanos now) {
  ResidencyReport bounded = stay;
  bound(resident, &bounded);
  bool freed = false;
  for (Resident::DeviceResidency& place : resident->places) {
    const std::uint64_t before = place.booked();
    place.ordered = 0;
    freed = freed || place.booked() < before;
  }
  if (resident->known && bounded == resident->stay) return freed;
  const bool wanted = resident->isRunnable();
  const Nanos idle = now - resident->stay.idle_since;
  resident->stay = bounded;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    Resident::DeviceResidency& place = resident->places[d];
    place.reported = bounded.at[d];
    place.want = std::min(place.want, place.reported.want);
  }
  if (!resident->ever_ordered) adopt(resident, now);
  if (resident->isRunnable()) resident->unused = false;
  if (wanted || !resident->isRunnable()) return true;
  resident->wanted_since = now;
  // A tenant is owed nothing for the time in which it did not want to run.
  double least = -1;
  bool awaited = false;
  for (const auto& other : residents_) {
    if (other.get() == resident || (other->terms.devices & resident->terms.devices) == 0) continue;
    awaited = awaited || other->isWaiting();
    const bool rival = other->isRunnable() && other->terms.cls == resident->terms.cls;
    if (rival && (least < 0 || other->served < least)) least = other->served;
  }
  resident->served = std::max(resident->served, least);
  // It begins another turn, unless a tenant waits for the end of this one; then a pause must not
  // extend it.
  if (resident->isResident() && !awaited && idle >= constants_.idle_min)
    resident->granted_at = resident->ready_at = now;
  return true;
}

void ResidencyAccounts::advance(Nanos now) {
  const auto passed = static_cast<double>(std::max(now - now_, Nanos{0}));
  now_ = std::max(now, now_);
  for (const auto& resident : residents_) {
    if (resident->isRunnable() && resident->isResident())
      resident->served += passed / std::max(resident->terms.weight, 1u);
  }
}

// Pinned memory never leaves, so it must not take memory that other tenants need permanently.
// Beyond the tenant's own guarantee it is admitted only if every tenant that fitted before still
// fits.
std::uint64_t ResidencyAccounts::admit(unsigned device) {
  std::uint64_t floors = 0;
  for (const auto& resident : residents_) {
    Resident::DeviceResidency& place = resident->places[device];
    if (!resident->uses(device)) continue;
    const std::uint64_t own =
        std::max(resident->terms.guarantee[device], resident->terms.base[device]);
    place.want = resident->terms.swappable
                     ? std::min(place.reported.want, less(own, place.reported.pinned))
                     : place.reported.want;
    place.floor = floorOf(*resident, device);
    floors += place.floor;
  }
  for (const auto& resident : residents_) {
    Resident::DeviceResidency& place = resident->places[device];
    if (!resident->uses(device) || place.want == place.reported.want) continue;
    const auto fit = [&](std::vector<bool>* fits) {
      for (const auto& each : residents_) {
        const Resident::DeviceResidency& other = each->places[device];
        fits->push_back(!each->uses(device) || !each->terms.swappable ||
                        other.need() <= less(budgetOf(devices_[device]), floors - other.floor));
      }
    };
    const std::uint64_t covered = place.want;
    const std::uint64_t floor = place.floor;
    std::vector<bool> before, after;
    fit(&before);
    place.want = place.reported.want;
    place.floor = floorOf(*resident, device);
    floors += place.floor - floor;
    fit(&after);
    bool harmless = true;
    for (std::size_t i = 0; i < before.size(); ++i) harmless &= !before[i] || after[i];
    if (harmless) continue;
    floors -= place.floor - floor;
    place.want = covered;
    place.floor = floor;
  }
  return floors;
}

void ResidencyAccounts::refresh() {
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    for (const auto& resident : residents_)
      if (!resident->uses(d)) resident->places[d] = Resident::DeviceResidency{};
    const std::uint64_t floors = admit(d);
    for (const auto& resident : residents_) {
      Resident::DeviceResidency& place = resident->places[d];
      if (!resident->uses(d)) continue;
      const std::uint64_t fixed = floors - place.floor;
      const std::uint64_t kept = less(fixed, parkableFor(residents_, *resident, d));
      place.most = less(budgetOf(devices_[d]), kept);
      place.target = std::max(place.floor, std::min(place.need(), place.most));
      if (place.goal > place.target + 2 * slack(d)) place.lowerTo(place.target + slack(d));
    }
  }
  for (const auto& resident : residents_) updateParked(resident.get());
}

void ResidencyAccounts::restore(Resident* resident, Nanos now) {
  for (Resident::DeviceResidency& place : resident->places) {
    place.allowed = std::max(place.allowed, place.reported.held);
    place.goal = std::max(place.goal, place.allowed);
  }
  resident->retry = std::clamp(2 * resident->retry, constants_.retry_min, constants_.retry_max);
  resident->retry_at = now + resident->retry;
  resident->excess_seen = 0;
  resident->park = false;
  if (resident->isResident()) resident->taken = resident->yielded = resident->idled = false;
}

void ResidencyAccounts::postponeRefused(DeadlineSet* agenda) {
  bool restored = false;
  for (const auto& resident : residents_) {
    // A tenant that is being parked gives all at once, or refuses.
    if (resident->park && resident->terms.parkable) continue;
    const std::uint64_t excess = resident->excess();
    const std::uint64_t before = std::exchange(resident->excess_seen, excess);
    if (excess == 0) {
      if (before != 0) resident->retry = 0;
      continue;
    }
    if (before == 0 || excess < before) resident->moved_at = agenda->now();
    const bool refuses = resident->park || ((resident->stay.refused || resident->stay.capturing) &&
                                            resident->overfull());
    if (!refuses && !agenda->reached(resident->moved_at + constants_.patience)) continue;
    restore(resident.get(), agenda->now());
    restored = true;
  }
  if (restored) shed(agenda);
}

void ResidencyAccounts::shed(DeadlineSet* agenda) {
  std::vector<Resident*> order;
  for (const auto& resident : residents_) order.push_back(resident.get());
  // The tenant with the latest grant has used least of it.
  std::sort(order.begin(), order.end(),
            [](const Resident* a, const Resident* b) { return a->grant > b->grant; });
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    const auto over = [&] {
      const std::int64_t left = unplanned(d);
      return left < 0 ? static_cast<std::uint64_t>(-left) : 0;
    };
    if (over() == 0) continue;
    reclaimSlack(d, over());
    for (Resident* resident : order) {
      Resident::DeviceResidency& place = resident->places[d];
      place.goal -= std::min(place.goal - place.allowed, over());
    }
  }
  std::sort(order.begin(), order.end(), [](const Resident* a, const Resident* b) {
    return std::tuple(b->terms.cls, a->isRunnable(), b->served, b->key) <
           std::tuple(a->terms.cls, b->isRunnable(), a->served, a->key);
  });
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    for (Resident* resident : order) {
      const std::int64_t left = unplanned(d);
      if (left >= 0) break;
      if (!resident->terms.swappable || !agenda->reached(resident->retry_at)) continue;
      Resident::DeviceResidency& place = resident->places[d];
      const std::uint64_t part = std::min(place.spare(), static_cast<std::uint64_t>(-left));
      if (part == 0) continue;
      place.lowerTo(place.goal - part);
      resident->evict(agenda->now());
    }
  }
}

void ResidencyAccounts::reclaim(DeadlineSet* agenda) {
  for (const auto& resident : residents_) {
    const Nanos limit = resident->terms.unused_after;
    if (!resident->known || !resident->terms.swappable || resident->isRunnable() || limit == 0)
      continue;
    if (!agenda->reached(resident->stay.idle_since + limit)) continue;
    resident->unused = true;
    const bool asks = !resident->stay.capturing && agenda->reached(resident->retry_at);
    for (unsigned d = 0; asks && d < kMaxGroupDevices; ++d) {
      Resident::DeviceResidency& place = resident->places[d];
      if (!resident->uses(d)) continue;
      place.lowerTo(std::max(place.target, place.floor));
      const std::uint64_t host = less(hostLeftFor(*resident, d), place.out());
      const std::uint64_t part = std::min(place.spare(), host);
      if (part == 0) continue;
      place.lowerTo(place.goal - part);
      resident->taker = 0;
      resident->evict(agenda->now());
    }
  }
}

void ResidencyAccounts::raise() {
  std::vector<Resident*> order;
  for (const auto& resident : residents_) order.push_back(resident.get());
  std::stable_sort(order.begin(), order.end(),
                   [](const Resident* a, const Resident* b) { return a->grant < b->grant; });
  const auto raiseTo = [&](Resident::DeviceResidency& place, unsigned d, std::uint64_t bytes) {
    if (bytes <= place.allowed) return;
    const std::uint64_t room = less(budgetOf(devices_[d]), booked(d));
    place.allowed = std::max(place.allowed, std::min(bytes, place.booked() + room));
  };
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    for (Resident* resident : order) {
      Resident::DeviceResidency& place = resident->places[d];
      raiseTo(place, d, std::min(place.goal, place.target));
    }
    for (Resident* resident : order) raiseTo(resident->places[d], d, resident->places[d].goal);
  }
}

std::uint64_t ResidencyAccounts::slack(unsigned device) const {
  constexpr std::uint64_t kMax = std::uint64_t{512} << 20;
  return std::min(devices_[device].terms.budget / 32, kMax);
}

void ResidencyAccounts::lendSlack() {
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    if (devices_[d].terms.budget == 0) continue;
    const bool waited = std::any_of(residents_.begin(), residents_.end(), [&](const auto& each) {
      return each->uses(d) && each->isWaiting();
    });
    if (waited) continue;
    for (const auto& resident : residents_) {
      Resident::DeviceResidency& place = resident->places[d];
      if (!resident->terms.swappable || place.need() == 0 || place.lack() != 0) continue;
      const std::uint64_t most = std::min(ceilingOf(*resident, d), place.most);
      if (place.goal >= std::min(most, place.target + slack(d) / 2)) continue;
      const std::int64_t left = unplanned(d);
      if (left <= 0) break;
      place.goal =
          std::min({most, place.target + slack(d), place.goal + static_cast<std::uint64_t>(left)});
    }
  }
}

void ResidencyAccounts::reclaimSlack(unsigned device, std::uint64_t bytes) {
  for (const auto& resident : residents_) {
    Resident::DeviceResidency& place = resident->places[device];
    if (!resident->terms.swappable || place.goal <= place.target) continue;
    const std::uint64_t part = std::min(bytes, place.goal - place.target);
    place.lowerTo(place.goal - part);
    bytes -= part;
  }
}

std::uint64_t ResidencyAccounts::booked(unsigned device) const {
  std::uint64_t sum = 0;
  for (const auto& resident : residents_) sum += resident->places[device].booked();
  return sum;
}

std::uint64_t ResidencyAccounts::planned(unsigned device) const {
  std::uint64_t sum = 0;
  for (const auto& resident : residents_) sum += resident->places[device].goal;
  return sum;
}

std::uint64_t ResidencyAccounts::slackLent(unsigned device) const {
  std::uint64_t sum = 0;
  for (const auto& resident : residents_) {
    const Resident::DeviceResidency& place = resident->places[device];
    if (resident->terms.swappable) sum += less(place.goal, place.target);
  }
  return sum;
}

std::int64_t ResidencyAccounts::unplanned(unsigned device) const {
  return static_cast<std::int64_t>(budgetOf(devices_[device])) -
         static_cast<std::int64_t>(planned(device));
}

std::uint64_t ResidencyAccounts::hostLeftFor(const Resident& resident, unsigned device) const {
  std::uint64_t out = 0;
  for (const auto& each : residents_)
    if (each.get() != &resident) out += each->places[device].out();
  return less(devices_[device].terms.host_reserve, out);
}

// In its turn all memory that other tenants can give is at the host.
std::uint64_t ResidencyAccounts::mostOf(const Resident& resident, unsigned device) const {
  const std::uint64_t most = resident.places[device].most;
  if (!resident.mapsHost() || !resident.uses(device)) return most;
  std::uint64_t out = 0;
  for (const auto& each : residents_) {
    const Resident::DeviceResidency& place = each->places[device];
    if (each.get() != &resident) out += less(place.need(), place.floor);
  }
  const std::uint64_t host = less(devices_[device].terms.host_reserve, out);
  return std::max(most, std::min(ceilingOf(resident, device), most + host));
}

bool ResidencyAccounts::contended(const Resident& resident) const {
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    if (!resident.uses(d) || !resident.terms.swappable) continue;
    if (resident.places[d].mayGoOut() == 0) continue;
    std::uint64_t others = 0;
    for (const auto& each : residents_)
      if (each.get() != &resident) others += each->places[d].need();
    const std::uint64_t left = less(budgetOf(devices_[d]), others);
    if (others != 0 && resident.places[d].need() > left) return true;
  }
  return false;
}

std::uint64_t ResidencyAccounts::hostFor(const Resident& resident) const {
  const auto partOf = [](std::uint64_t bytes, std::uint64_t of, std::uint64_t all) {
    if (all <= of) return bytes;
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(of) /
                                      static_cast<double>(all));
  };
  std::uint64_t sum = 0;
  for (unsigned d = 0; d < kMaxGroupDevices; ++d) {
    if (!resident.uses(d) || !resident.terms.swappable) continue;
    std::uint64_t out = 0;
    std::uint64_t may = 0;
    for (const auto& each : residents_) {
      if (!each->terms.swappable) continue;
      out += each->places[d].out();
      may += each->places[d].mayGoOut();
    }
    const std::uint64_t reserve = devices_[d].terms.host_reserve;
    sum += partOf(resident.places[d].out(), reserve, out);
    sum += partOf(resident.places[d].mayGoOut(), less(reserve, out), may);
  }
  return sum;
}

}  // namespace divvy::arbiter
