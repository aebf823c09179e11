#include "turns.h"

#include <algorithm>

#include "samples.h"

namespace divvy::bench {

std::vector<Turn> turnsOf(const std::vector<Spans>& tenants, CardTime least) {
  std::vector<Turn> pieces;
  for (std::size_t tenant = 0; tenant < tenants.size(); ++tenant) {
    for (const Span& span : tenants[tenant]) pieces.push_back({tenant, span});
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Turn& a, const Turn& b) { return a.span.start < b.span.start; });
  const auto join = [](const std::vector<Turn>& from) {
    std::vector<Turn> joined;
    for (const Turn& turn : from) {
      if (!joined.empty() && joined.back().tenant == turn.tenant) {
        joined.back().span.end = std::max(joined.back().span.end, turn.span.end);
      } else {
        joined.push_back(turn);
      }
    }
    return joined;
  };
  std::vector<Turn> turns = join(pieces);
  std::erase_if(turns,
                [least](const Turn& turn) { return turn.span.end - turn.span.start < least; });
  return join(turns);
}

std::vector<std::size_t> switchesTo(const std::vector<Turn>& turns, std::size_t tenants) {
  std::vector<std::size_t> count(tenants, 0);
  for (std::size_t i = 1; i < turns.size(); ++i) ++count[turns[i].tenant];
  return count;
}

double medianTurn(const std::vector<Turn>& turns) {
  Samples lengths;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const bool last =
        std::none_of(turns.begin() + static_cast<std::ptrdiff_t>(i) + 1, turns.end(),
                     [&](const Turn& later) { return later.tenant == turns[i].tenant; });
    if (!last) lengths.push_back(turns[i].span.seconds());
  }
  return median(lengths);
}

double longestPause(const Spans& spans, Span range) {
  CardTime at = range.start;
  CardTime longest = 0;
  for (const Span& span : spans) {
    if (span.end <= range.start) continue;
    if (span.start >= range.end) break;
    if (span.start > at) longest = std::max(longest, span.start - at);
    at = std::max(at, span.end);
  }
  if (range.end > at) longest = std::max(longest, range.end - at);
  return static_cast<double>(longest) / kNanosPerSecond;
}

}  // namespace divvy::bench
