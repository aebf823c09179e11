#include "card/card_clock.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace divvy::simgpu {
namespace {

using Wide = unsigned __int128;

std::atomic<std::uint32_t> scale{kRealTime};

Nanos times(Nanos value, std::uint32_t by, std::uint32_t over) {
  if (by == over) return value;
  return static_cast<Nanos>((Wide{value} * by + over - 1) / over);
}

}  // namespace

std::uint32_t configuredTimeScale() {
  const char* text = std::getenv("SIMGPU_TIME_SCALE");
  if (text == nullptr || *text == 0) return kRealTime;
  char* end = nullptr;
  const double factor = std::strtod(text, &end);
  const double thousandths = factor * kRealTime;
  if (*end == 0 && thousandths >= 1 && thousandths <= kFastestTime) {
    return static_cast<std::uint32_t>(thousandths + 0.5);
  }
  std::fprintf(stderr, "simgpu: SIMGPU_TIME_SCALE: \"%s\": 0.001 to 1000 is accepted\n", text);
  return kRealTime;
}

void setTimeScale(std::uint32_t thousandths) {
  const bool sane = thousandths >= 1 && thousandths <= kFastestTime;
  scale.store(sane ? thousandths : kRealTime, std::memory_order_relaxed);
}

Nanos clockNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return cardDuration(static_cast<Nanos>(now.tv_sec) * 1'000'000'000 +
                      static_cast<Nanos>(now.tv_nsec));
}

timespec realTimeOf(Nanos at) {
  const Nanos real = realDuration(at);
  return {static_cast<time_t>(real / 1'000'000'000), static_cast<long>(real % 1'000'000'000)};
}

Nanos realDuration(Nanos card) {
  return times(card, kRealTime, scale.load(std::memory_order_relaxed));
}

Nanos cardDuration(Nanos real) {
  return times(real, scale.load(std::memory_order_relaxed), kRealTime);
}

}  // namespace divvy::simgpu
