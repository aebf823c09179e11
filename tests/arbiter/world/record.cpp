#include "record.h"

#include <algorithm>
#include <cmath>

namespace divvy::arbiter::world {

void Record::runFor(Nanos time) {
  const auto sample = [this] {
    samples_.resize(tenants_.size());
    Nanos sum = 0;
    for (std::size_t i = 0; i < tenants_.size(); ++i) {
      samples_[i].push_back(world_.got(tenants_[i], device_));
      sum += samples_[i].back();
    }
    all_.push_back(sum);
  };
  if (all_.empty()) sample();
  const Nanos end = world_.now() + time;
  while (world_.now() < end && world_.fault().empty()) {
    world_.runUntil(std::min(world_.now() + every_, end));
    sample();
  }
}

double Record::share(unsigned index) const {
  const auto& own = samples_[index];
  return static_cast<double>(own.back() - own.front()) /
         static_cast<double>(all_.back() - all_.front());
}

double Record::total() const {
  return static_cast<double>(all_.back() - all_.front()) /
         static_cast<double>(every_ * static_cast<Nanos>(all_.size() - 1));
}

Nanos Record::lag(unsigned index, double part) const {
  double least = 0;
  double most = 0;
  for (std::size_t at = 0; at < all_.size(); ++at) {
    const double ahead = static_cast<double>(samples_[index][at] - samples_[index][0]) -
                         part * static_cast<double>(all_[at] - all_[0]);
    least = std::min(least, ahead);
    most = std::max(most, ahead);
  }
  return static_cast<Nanos>(most - least);
}

double Record::error(unsigned index, double part, Nanos window) const {
  const auto steps = static_cast<std::size_t>(window / every_);
  double worst = 0;
  for (std::size_t from = 0; from + steps < all_.size(); ++from) {
    const auto own = static_cast<double>(samples_[index][from + steps] - samples_[index][from]);
    const auto sum = static_cast<double>(all_[from + steps] - all_[from]);
    worst = std::max(worst, std::abs(own / std::max(sum, 1.0) - part));
  }
  return 100 * worst;
}

double Record::most(unsigned index, Nanos window) const {
  const auto steps = static_cast<std::size_t>(window / every_);
  Nanos most = 0;
  for (std::size_t from = 0; from + steps < all_.size(); ++from)
    most = std::max(most, samples_[index][from + steps] - samples_[index][from]);
  return 100 * static_cast<double>(most) / static_cast<double>(steps * every_);
}

double Record::least(unsigned index, Nanos window) const {
  const auto steps = static_cast<std::size_t>(window / every_);
  Nanos least = window;
  for (std::size_t from = 0; from + steps < all_.size(); ++from)
    least = std::min(least, samples_[index][from + steps] - samples_[index][from]);
  return 100 * static_cast<double>(least) / static_cast<double>(steps * every_);
}

}  // namespace divvy::arbiter::world
