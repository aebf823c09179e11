#include "card_time.h"

#include <cerrno>
#include <ctime>

namespace divvy::bench {

std::uint64_t monotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

CardTime CardClock::now() const {
  return fromMonotonic(monotonicNow());
}

void CardClock::sleepUntil(CardTime at) const {
  const std::uint64_t real = at * 1000 / permille_;
  const timespec deadline{static_cast<time_t>(real / 1'000'000'000),
                          static_cast<long>(real % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) {
  }
}

}  // namespace divvy::bench
