#include "connections.h"

#include <algorithm>
#include <utility>

namespace divvy::http {

std::list<Connections::Item>& Connections::listOf(Item::State state) {
  if (state == Item::State::kIdle) return idle_;
  return state == Item::State::kBusy ? busy_ : closing_;
}

void Connections::move(Place place, Item::State to) {
  const Item::State from = place->state;
  if (from == to || from == Item::State::kClosing) return;
  if (from == Item::State::kIdle && --idle_of_[place->address] == 0) idle_of_.erase(place->address);
  if (to == Item::State::kIdle) ++idle_of_[place->address];
  place->state = to;
  listOf(to).splice(listOf(to).end(), listOf(from), place);
}

void Connections::close(Place place) {
  move(place, Item::State::kClosing);
  ++closed_;
  place->close();
}

Connections::Place Connections::oldestOf(const std::string& address) {
  return std::find_if(idle_.begin(), idle_.end(),
                      [&](const Item& one) { return one.address == address; });
}

bool Connections::makeRoom() {
  if (size() < terms_.most) return true;
  std::size_t most = 0;
  for (const auto& [address, count] : idle_of_) most = std::max(most, count);
  const auto oldest = std::find_if(idle_.begin(), idle_.end(), [&](const Item& one) {
    return idle_of_.at(one.address) == most;
  });
  if (oldest == idle_.end()) return false;
  close(oldest);
  return true;
}

Connections::Place Connections::add(std::string address, std::function<void()> close, Instant now) {
  const auto idle = idle_of_.find(address);
  if (idle != idle_of_.end() && idle->second >= terms_.idle_of_address) {
    const Place oldest = oldestOf(address);
    if (now - oldest->since >= terms_.fresh) this->close(oldest);
  }
  ++idle_of_[address];
  idle_.push_back({std::move(address), std::move(close), now});
  return std::prev(idle_.end());
}

void Connections::remove(Place place) {
  dropsBody(place);
  if (place->state == Item::State::kIdle && --idle_of_[place->address] == 0)
    idle_of_.erase(place->address);
  listOf(place->state).erase(place);
}

void Connections::becomesIdle(Place place, Instant now) {
  dropsBody(place);
  if (place->state == Item::State::kBusy) place->since = now;
  move(place, Item::State::kIdle);
}

void Connections::becomesBusy(Place place) {
  move(place, Item::State::kBusy);
}

void Connections::closeIdle() {
  while (!idle_.empty()) close(idle_.begin());
}

void Connections::hears(Place place, Instant now) {
  if (place->state != Item::State::kIdle) return;
  place->since = now;
  idle_.splice(idle_.end(), idle_, place);
}

bool Connections::holdsBody(Place place, std::uint64_t bytes) {
  dropsBody(place);
  while (bytes > terms_.body_bytes - bodies_) {
    const auto slowest =
        std::find_if(idle_.begin(), idle_.end(), [](const Item& one) { return one.body > 0; });
    if (slowest == idle_.end()) return false;
    dropsBody(slowest);
    close(slowest);
  }
  place->body = bytes;
  bodies_ += bytes;
  return true;
}

void Connections::dropsBody(Place place) {
  bodies_ -= std::exchange(place->body, 0);
}

}  // namespace divvy::http
