#include "memory.h"

#include <algorithm>
#include <utility>

namespace divvy::arbiter::world {

bool Swapper::ready() const {
  return !closed_ && !terms.parked && std::all_of(at_.begin(), at_.end(), [](const Place& place) {
    return place.mapped + place.hosted == place.swappable;
  });
}

MemoryWorld::MemoryWorld(const MemorySettings& settings)
    : limit(settings.device.budget),
      settings_(settings),
      policy_(settings.constants),
      random_(settings.seed) {
  for (unsigned d = 0; d < settings.devices; ++d) policy_.setDevice(d, settings.device);
}

Nanos MemoryWorld::latency() {
  return std::uniform_int_distribution<Nanos>(settings_.latency_min,
                                              settings_.latency_max)(random_);
}

Swapper& MemoryWorld::add(const ResidencyEntitlement& terms) {
  swappers_.push_back(std::make_unique<Swapper>());
  Swapper& swapper = *swappers_.back();
  swapper.key = next_key_++;
  swapper.terms = terms;
  swapper.idle_since_ = now();
  policy_.add(swapper.key, terms, now());
  changed(&swapper);
  return swapper;
}

void MemoryWorld::remove(Swapper* swapper) {
  pass();
  swapper->gone_ = true;
  swapper->busy = false;
  swapper->at_ = {};
  policy_.remove(swapper->key, now());
  ring();
}

void MemoryWorld::allocate(Swapper* swapper, std::uint64_t bytes, unsigned device) {
  Swapper::Place& place = swapper->at_[device];
  const std::uint64_t footprint = place.swappable + place.pinned + place.want;
  bytes = std::min(bytes, swapper->terms.ceiling[device] - footprint);
  place.swappable += bytes;
  place.born += bytes;
  changed(swapper);
}

void MemoryWorld::free(Swapper* swapper, std::uint64_t bytes, unsigned device) {
  Swapper::Place& place = swapper->at_[device];
  bytes = std::min(bytes, place.swappable);
  place.swappable -= bytes;
  place.born = std::min(place.born, place.swappable);
  place.mapped = std::min(place.mapped, place.swappable);
  place.hosted = std::min(place.hosted, place.swappable - place.mapped);
  changed(swapper);
}

void MemoryWorld::pin(Swapper* swapper, std::uint64_t bytes, unsigned device) {
  Swapper::Place& place = swapper->at_[device];
  const std::uint64_t footprint = place.swappable + place.pinned + place.want;
  place.want += std::min(bytes, swapper->terms.ceiling[device] - footprint);
  changed(swapper);
}

void MemoryWorld::run(Swapper* swapper, Nanos time) {
  pass();
  if (swapper->gone_) return;
  swapper->until_ = time;
  if (time > 0 && !swapper->busy) swapper->waits_since_ = now();
  if (time == 0 && swapper->busy) swapper->idle_since_ = now();
  swapper->busy = time > 0;
  changed(swapper);
}

void MemoryWorld::setBudget(std::uint64_t bytes) {
  ResidencyBudget device = settings_.device;
  device.budget = bytes;
  for (unsigned d = 0; d < settings_.devices; ++d) policy_.setDevice(d, device);
  ring();
}

bool MemoryWorld::runsNow(const Swapper& swapper) const {
  return swapper.busy && swapper.ready() && swapper.order_.eligible;
}

// What passed since the last event: whoever could run shared the card.
void MemoryWorld::pass() {
  const Nanos time = now() - std::exchange(passed_, now());
  if (time == 0) return;
  Nanos running = 0;
  for (const auto& swapper : swappers_) running += runsNow(*swapper) ? 1 : 0;
  for (const auto& swapper : swappers_) {
    if (!runsNow(*swapper)) {
      swapper->wanted += swapper->busy ? time : 0;
      continue;
    }
    swapper->ran += time / running;
    if (swapper->until_ == kNever) continue;
    swapper->until_ -= time / running;
    if (swapper->until_ > kMicrosecond) continue;
    swapper->busy = false;
    swapper->idle_since_ = now();
    ring(swapper.get());
  }
}

void MemoryWorld::changed(Swapper* swapper) {
  pass();
  ring(swapper);
  timeline_.in(latency(), [this, swapper] { work(swapper); });
}

// What `swapper` has or wants is another one; null: something else is.
void MemoryWorld::ring(Swapper* swapper) {
  if (swapper != nullptr) swapper->rang_ = true;
  if (std::exchange(rung_, true)) return;
  timeline_.in(latency(), [this] {
    rung_ = false;
    registerWithArbiter();
  });
}

ResidencyReport MemoryWorld::stayOf(const Swapper& swapper) const {
  ResidencyReport stay;
  for (unsigned d = 0; d < settings_.devices; ++d) {
    const Swapper::Place& place = swapper.at_[d];
    const bool seen = swapper.seen_ == swapper.sent_;
    stay.at[d] = {
        place.swappable, place.mapped, place.pinned, place.want,
        std::max(seen ? swapper.order_.allowed[d] : place.promised, place.mapped + place.pinned)};
  }
  stay.ready = swapper.ready();
  stay.wants = swapper.busy;
  stay.capturing = swapper.capturing;
  stay.distrusted = swapper.distrusted;
  stay.maps_host = swapper.maps_host;
  stay.refused = swapper.refused_ && swapper.seen_ == swapper.sent_;
  stay.idle_since = swapper.idle_since_;
  return stay;
}

void MemoryWorld::report(Swapper* swapper) {
  swapper->rang_ = false;
  if (!swapper->gone_) policy_.report(swapper->key, stayOf(*swapper), now());
}

void MemoryWorld::registerWithArbiter() {
  pass();
  ++events_;
  for (const auto& swapper : swappers_)
    if (swapper->rang_) report(swapper.get());
  const std::vector<ResidencyTarget> orders = policy_.decide(now());
  for (const ResidencyTarget& order : orders) {
    for (const auto& swapper : swappers_)
      if (swapper->key == order.tenant) send(swapper.get(), order);
  }
  const Nanos wake = policy_.nextWakeup();
  for (const ResidencyTarget& order : orders) {
    for (const auto& swapper : swappers_) {
      if (!order.lowers || swapper->key != order.tenant) continue;
      report(swapper.get());
      ring();
    }
  }
  check();
  runs();
  if (wake == kNever) return;
  if (wake <= now()) {
    fault_ = "the law is never content";
    return;
  }
  wake_ = wake;
  timeline_.at(wake, [this, wake] {
    if (wake_ != wake) return;
    wake_ = kNever;
    registerWithArbiter();
  });
}

void MemoryWorld::send(Swapper* swapper, const ResidencyTarget& order) {
  if (on_order) on_order(*swapper, order);
  const bool seen = swapper->seen_ == swapper->sent_;
  const bool moves =
      order.allowed != swapper->order_.allowed || order.host_map != swapper->order_.host_map;
  if (moves) {
    for (unsigned d = 0; d < settings_.devices; ++d) {
      Swapper::Place& place = swapper->at_[d];
      place.promised =
          std::max({seen ? 0 : place.promised, swapper->order_.allowed[d], order.allowed[d]});
    }
    const std::uint64_t number = ++swapper->sent_;
    timeline_.in(latency(), [this, swapper, number] { notice(swapper, number); });
  }
  swapper->order_ = order;
  attend(swapper);
}

// What the agent does with the driver's checkpoints.
void MemoryWorld::attend(Swapper* swapper) {
  const bool leaves = swapper->order_.park && swapper->terms.parkable && !swapper->terms.parked;
  const bool returns = swapper->order_.reserved && swapper->terms.parked;
  if (swapper->parking_ || (!leaves && !returns)) return;
  swapper->parking_ = true;
  timeline_.in(park_time, [this, swapper, leaves] {
    pass();
    swapper->parking_ = false;
    if (swapper->gone_) return;
    leaves ? park(swapper) : unpark(swapper);
    policy_.change(swapper->key, swapper->terms, now());
    ring(swapper);
  });
}

void MemoryWorld::park(Swapper* swapper) {
  swapper->terms.parkable = parks();
  if (!swapper->terms.parkable) {
    timeline_.in(kSecond, [this, swapper] {
      swapper->terms.parkable = true;
      if (!swapper->gone_) policy_.change(swapper->key, swapper->terms, now());
      ring(swapper);
    });
    return;
  }
  ++swapper->parks;
  swapper->terms.parked = true;
  for (unsigned d = 0; d < settings_.devices; ++d) {
    const Swapper::Place& place = swapper->at_[d];
    const std::uint64_t need = place.swappable + place.pinned;
    swapper->terms.parked_need[d] = need + std::max(need / 20, 8 * (std::uint64_t{1} << 20));
  }
}

void MemoryWorld::unpark(Swapper* swapper) {
  swapper->terms.parked = false;
  timeline_.in(latency(), [this, swapper] { work(swapper); });
}

void MemoryWorld::notice(Swapper* swapper, std::uint64_t number) {
  if (swapper->frozen || swapper->gone_ || number < swapper->sent_) return;
  pass();
  for (unsigned d = 0; d < settings_.devices; ++d)
    swapper->at_[d].allowed = swapper->order_.allowed[d];
  swapper->refused_ = false;
  swapper->seen_ = number;
  // Who may only have more says nothing, nor when it takes that.
  for (unsigned d = 0; d < settings_.devices; ++d)
    if (swapper->at_[d].promised > swapper->order_.allowed[d]) ring(swapper);
  work(swapper);
}

// One step of the mover; it comes back after what it started.
void MemoryWorld::work(Swapper* swapper) {
  ++events_;
  pass();
  check();
  if (swapper->gone_ || swapper->frozen || swapper->moving_ || swapper->terms.parked) return;
  for (unsigned d = 0; d < settings_.devices; ++d) {
    Swapper::Place& place = swapper->at_[d];
    if (place.want != 0 && place.mapped + place.pinned + place.want <= place.allowed) {
      place.pinned += std::exchange(place.want, 0);
      ring(swapper);
    }
  }
  for (unsigned d = 0; d < settings_.devices; ++d)
    if (leave(swapper, d)) return;
  for (unsigned d = 0; d < settings_.devices; ++d)
    if (come(swapper, d) || host(swapper, d) || promote(swapper, d)) return;
  bool complete = true;
  for (const Swapper::Place& place : swapper->at_)
    complete = complete && place.mapped + place.hosted == place.swappable;
  if (complete && std::exchange(swapper->closed_, false)) ring(swapper);
  runs();
}

bool MemoryWorld::leave(Swapper* swapper, unsigned d) {
  Swapper::Place& place = swapper->at_[d];
  if (place.mapped + place.pinned <= place.allowed || place.mapped == 0) return false;
  if (swapper->capturing) {
    swapper->refused_ = true;
    ring(swapper);
    return false;
  }
  const SwapCost& cost = settings_.device.swap_cost;
  Nanos drain = 0;
  if (!std::exchange(swapper->closed_, true)) drain = cost.drain;
  const std::uint64_t chunk = std::min({cost.chunk, place.mapped});
  const auto time = static_cast<Nanos>(static_cast<double>(chunk) / cost.out_bps * 1e9);
  out_until_[d] = std::max(out_until_[d], now() + drain) + time + cost.per_chunk;
  swapper->moving_ = true;
  ring(swapper);
  timeline_.at(out_until_[d], [this, swapper, d, chunk] {
    pass();
    swapper->moving_ = false;
    if (swapper->gone_) return;
    Swapper::Place& now_at = swapper->at_[d];
    now_at.mapped -= std::min(chunk, now_at.mapped);
    swapper->copied_out += chunk;
    ring(swapper);
    work(swapper);
  });
  return true;
}

bool MemoryWorld::come(Swapper* swapper, unsigned d) {
  Swapper::Place& place = swapper->at_[d];
  const std::uint64_t missing = place.swappable - place.mapped - place.hosted;
  const std::uint64_t chunk = std::min(settings_.device.swap_cost.chunk, missing);
  if (chunk == 0 || place.mapped + place.pinned + chunk > place.allowed) return false;
  place.mapped += chunk;
  const std::uint64_t born = std::min(chunk, place.born);
  place.born -= born;
  moveIn(swapper, d, chunk - born);
  return true;
}

// There is no room for what is missing, and it is told to run all the same.
bool MemoryWorld::host(Swapper* swapper, unsigned d) {
  Swapper::Place& place = swapper->at_[d];
  const std::uint64_t missing = place.swappable - place.mapped - place.hosted;
  const std::uint64_t chunk = std::min(settings_.device.swap_cost.chunk, missing);
  if (chunk == 0 || !swapper->order_.host_map || !swapper->maps_host) return false;
  if (place.hosted + chunk > swapper->order_.host_allowed) return false;
  place.hosted += chunk;
  const std::uint64_t born = std::min(chunk, place.born);
  place.born -= born;
  moveIn(swapper, d, chunk - born);
  return true;
}

bool MemoryWorld::promote(Swapper* swapper, unsigned d) {
  Swapper::Place& place = swapper->at_[d];
  const std::uint64_t chunk = std::min(settings_.device.swap_cost.chunk, place.hosted);
  if (chunk == 0 || place.mapped + place.pinned + chunk > place.allowed) return false;
  if (swapper->capturing) return false;
  place.hosted -= chunk;
  place.mapped += chunk;
  moveIn(swapper, d, chunk);
  return true;
}

void MemoryWorld::moveIn(Swapper* swapper, unsigned d, std::uint64_t copied) {
  const SwapCost& cost = settings_.device.swap_cost;
  const auto time = static_cast<Nanos>(static_cast<double>(copied) / cost.in_bps * 1e9);
  in_until_[d] = std::max(in_until_[d], now()) + time + cost.per_chunk;
  swapper->moving_ = swapper->closed_ = true;
  swapper->copied_in += copied;
  timeline_.at(in_until_[d], [this, swapper] {
    pass();
    swapper->moving_ = false;
    work(swapper);
  });
}

// Who came to run, and when that ends.
void MemoryWorld::runs() {
  Nanos running = 0;
  for (const auto& swapper : swappers_) running += runsNow(*swapper) ? 1 : 0;
  for (const auto& swapper : swappers_) {
    if (!runsNow(*swapper)) continue;
    if (swapper->waits_since_ >= 0)
      swapper->waits.push_back(now() - std::exchange(swapper->waits_since_, -1));
    if (swapper->until_ != kNever) timeline_.in(swapper->until_ * running + 1, [this] { pass(); });
  }
}

void MemoryWorld::check() {
  if (!fault_.empty()) return;
  std::uint64_t host = 0;
  for (const auto& swapper : swappers_)
    if (!swapper->gone_) host += swapper->order_.host_allowed;
  if (host > settings_.devices * settings_.device.host_reserve)
    fault_ = "the host may come to hold " + std::to_string(host);
  for (unsigned d = 0; d < settings_.devices; ++d) {
    std::uint64_t has = 0;
    std::uint64_t could = 0;
    for (const auto& swapper : swappers_) {
      if (swapper->gone_ || swapper->terms.parked) continue;
      has += swapper->has(d);
      // Its ledger holds it to its ceiling, whatever it may have.
      could += std::min(stayOf(*swapper).at[d].held, swapper->terms.ceiling[d]);
    }
    const std::string at = " at " + std::to_string(now()) + " ns";
    if (has > limit) fault_ = "the card holds " + std::to_string(has) + at;
    if (could > limit) fault_ = "the card could come to hold " + std::to_string(could) + at;
    if (policy_.device(d).booked > limit)
      fault_ = "the book says " + std::to_string(policy_.device(d).booked) + at;
  }
}

void MemoryWorld::runUntil(Nanos instant) {
  timeline_.runUntil(instant);
  pass();
}

}  // namespace divvy::arbiter::world
