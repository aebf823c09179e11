#include "programs.h"

#include <algorithm>
#include <cmath>

namespace divvy::arbiter::world {
namespace {

double uniform(Random& random) {
  return (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0;  // 2^53
}

}  // namespace

Lengths fixed(Nanos length) {
  return [length](Random&) { return length; };
}

Lengths lognormal(Nanos median, double sigma, Nanos least, Nanos most) {
  return [=](Random& random) {
    constexpr double kPi = 3.14159265358979323846;
    const double normal =
        std::sqrt(-2 * std::log(uniform(random))) * std::cos(2 * kPi * uniform(random));
    const double length = static_cast<double>(median) * std::exp(sigma * normal);
    return std::clamp(static_cast<Nanos>(length), least, most);
  };
}

Program endless(Lengths lengths, unsigned device) {
  return [=](Random& random, Nanos) { return launch(lengths(random), device); };
}

Program launchBound(Lengths lengths, Nanos between, unsigned device) {
  return [=, state = 0](Random& random, Nanos) mutable {
    switch (state++ % 3) {
      case 0:
        return launch(lengths(random), device);
      case 1:
        return sync();
      default:
        return sleepFor(between);
    }
  };
}

Program dutyCycled(Lengths lengths, Nanos on, Nanos off, unsigned device) {
  return [=](Random& random, Nanos now) {
    const Nanos phase = now % (on + off);
    return phase < on ? launch(lengths(random), device) : sleepFor(on + off - phase);
  };
}

Program ranks(Lengths lengths, std::vector<unsigned> devices) {
  return [=, next = std::size_t{0}, length = Nanos{0}](Random& random, Nanos) mutable {
    if (next == devices.size()) {
      next = 0;
      return sync();
    }
    if (next == 0) length = lengths(random);
    return launch(length, devices[next++]);
  };
}

Program serving(const Service& service, Latencies latencies) {
  struct State {
    Random arrivals;
    double at = 0;  // scheduled arrival, ns
    unsigned request = 0;
    unsigned launched = 0;
    enum { kWait, kLaunch, kSync, kBetween } next = kWait;
  };
  auto state = std::make_shared<State>();
  state->arrivals.seed(service.seed);
  return [=](Random&, Nanos now) {
    State& s = *state;
    const auto arrived = static_cast<Nanos>(s.at);
    switch (s.next) {
      case State::kWait:
        if (s.request++ == service.requests) return Step{};
        s.at += -std::log(uniform(s.arrivals)) * 1e9 / service.per_second;
        s.next = State::kLaunch;
        s.launched = 0;
        return sleepFor(std::max(static_cast<Nanos>(s.at) - now, Nanos{0}));
      case State::kLaunch: {
        Step step = launch(service.time / service.launches);
        const bool last = ++s.launched == service.launches;
        s.next = last || service.between > 0 ? State::kSync : State::kLaunch;
        return step;
      }
      case State::kSync:
        s.next = State::kBetween;
        return sync();
      case State::kBetween:
        if (s.launched < service.launches) {
          s.next = State::kLaunch;
          return sleepFor(service.between);
        }
        latencies->push_back(now - arrived);
        s.next = State::kWait;
        return sync();
    }
    return Step{};
  };
}

}  // namespace divvy::arbiter::world
