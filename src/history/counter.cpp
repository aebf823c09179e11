#include "history/counter.h"

#include <algorithm>

namespace divvy::history {

std::optional<Increase> CounterReadings::next(Instant time, std::int64_t reading) {
  if (reading < 0 || (known_ && time <= time_)) return std::nullopt;
  const bool usable = known_ && reading >= reading_ && time - time_ <= kMaxGap;
  const Increase increase{reading - reading_, time - time_};
  known_ = true;
  time_ = time;
  reading_ = reading;
  if (!usable) return std::nullopt;
  return increase;
}

std::int64_t milliPerSecond(const Increase& increase) {
  if (increase.amount <= 0 || increase.elapsed <= Span(0)) return 0;
  __extension__ using Wide = unsigned __int128;
  const Wide rate = Wide(static_cast<std::uint64_t>(increase.amount)) * 1'000'000 /
                    static_cast<std::uint64_t>(increase.elapsed.count());
  return static_cast<std::int64_t>(std::min<Wide>(rate, INT64_MAX));
}

}  // namespace divvy::history
