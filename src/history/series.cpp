#include "history/series.h"

namespace divvy::history {

using namespace std::chrono_literals;

Span stepOf(Tier tier) {
  switch (tier) {
    case Tier::kFiveSeconds:
      return 5s;
    case Tier::kMinute:
      return 1min;
    case Tier::kFiveMinutes:
      return 5min;
    case Tier::kHour:
      break;
  }
  return 1h;
}

Span retentionOf(Tier tier) {
  switch (tier) {
    case Tier::kFiveSeconds:
      return 15min;
    case Tier::kMinute:
      return 6h;
    case Tier::kFiveMinutes:
      return std::chrono::days(14);
    case Tier::kHour:
      break;
  }
  return std::chrono::days(400);
}

}  // namespace divvy::history
