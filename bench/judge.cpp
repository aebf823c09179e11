#include "judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace divvy::bench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr CardTime kSecond = 1'000'000'000;

// The first span that ends after `at`.
Spans::const_iterator firstAfter(const Spans& spans, CardTime at) {
  return std::upper_bound(spans.begin(), spans.end(), at,
                          [](CardTime t, const Span& span) { return t < span.end; });
}

double millis(CardTime from, CardTime to) {
  return to > from ? static_cast<double>(to - from) / kNanosPerMilli : 0;
}

}  // namespace

Spans united(Spans spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  Spans result;
  for (const Span& span : spans) {
    if (!result.empty() && span.start <= result.back().end) {
      result.back().end = std::max(result.back().end, span.end);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

double busySeconds(const Spans& spans, Span range) {
  double busy = 0;
  for (auto it = firstAfter(spans, range.start); it != spans.end() && it->start < range.end; ++it) {
    busy += Span{std::max(it->start, range.start), std::min(it->end, range.end)}.seconds();
  }
  return busy;
}

std::vector<Span> windowsOf(Span range, CardTime length) {
  std::vector<Span> windows;
  for (CardTime at = range.start; length != 0 && at + length <= range.end; at += length) {
    windows.push_back({at, at + length});
  }
  return windows;
}

ShareError worstShareError(const std::vector<Spans>& tenants, const std::vector<double>& weights,
                           Span range, CardTime length) {
  const std::vector<Span> windows = windowsOf(range, length);
  const double claimed = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (windows.empty() || claimed <= 0 || weights.size() != tenants.size()) return {kNan, 0, 0};
  ShareError worst{-1, 0, 0};
  for (std::size_t w = 0; w < windows.size(); ++w) {
    std::vector<double> got;
    for (const Spans& spans : tenants) got.push_back(busySeconds(spans, windows[w]));
    const double sum = std::accumulate(got.begin(), got.end(), 0.0);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double pp = sum > 0 ? 100 * std::abs(got[i] / sum - weights[i] / claimed) : 100;
      if (pp > worst.pp) worst = {pp, i, w};
    }
  }
  return worst;
}

double totalVsSolo(const std::vector<Spans>& tenants, const std::vector<double>& solo, Span range) {
  if (solo.size() != tenants.size() || range.seconds() <= 0) return kNan;
  double total = 0;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    if (!(solo[i] > 0)) return kNan;
    total += busySeconds(tenants[i], range) / range.seconds() / solo[i];
  }
  return total;
}

CapError capError(const Spans& spans, double cap, Span range) {
  CapError error{kNan, kNan};
  const auto busyPercent = [&](Span w) { return 100 * busySeconds(spans, w) / w.seconds(); };
  for (const Span& window : windowsOf(range, 10 * kSecond)) {
    error.mean_pp = std::fmax(error.mean_pp, std::abs(busyPercent(window) - cap));
  }
  for (const Span& window : windowsOf(range, kSecond)) {
    error.over_pp = std::fmax(error.over_pp, busyPercent(window) - cap);
  }
  return error;
}

double idleReclaimed(const Spans& spans, const std::vector<Span>& pauses, CardTime settle,
                     double solo) {
  double wall = 0;
  double got = 0;
  for (const Span& pause : pauses) {
    if (pause.end <= pause.start + settle) continue;
    const Span judged{pause.start + settle, pause.end};
    wall += judged.seconds();
    got += busySeconds(spans, judged);
  }
  return wall > 0 && solo > 0 ? got / wall / solo : kNan;
}

std::vector<double> returnDelays(const Spans& spans, const std::vector<CardTime>& returns,
                                 double part, CardTime end) {
  std::vector<double> delays;
  for (const CardTime since : returns) {
    double delay = kInfinity;
    double got = 0;
    for (auto it = firstAfter(spans, since); it != spans.end() && it->start < end; ++it) {
      const CardTime start = std::max(it->start, since);
      // While it runs, got grows by 1 per unit of time and what is due by `part`.
      const double due = part * static_cast<double>(start - since);
      const double needed = std::max(0.0, (due - got) / (1 - part));
      const CardTime stop = std::min(it->end, end);
      if (needed <= static_cast<double>(stop - start)) {
        delay = (static_cast<double>(start - since) + needed) / kNanosPerMilli;
        break;
      }
      got += static_cast<double>(stop - start);
    }
    delays.push_back(delay);
  }
  return delays;
}

std::vector<double> startDelays(const Spans& spans, const std::vector<CardTime>& instants,
                                CardTime end) {
  std::vector<double> delays;
  for (const CardTime since : instants) {
    const auto it = firstAfter(spans, since);
    const bool ran = it != spans.end() && it->start < end;
    delays.push_back(ran ? millis(since, it->start) : kInfinity);
  }
  return delays;
}

double shareOfGaps(const Spans& first, const Spans& filler, Span range) {
  const double gaps = range.seconds() - busySeconds(first, range);
  return gaps > 0 ? busySeconds(filler, range) / gaps : kNan;
}

std::vector<double> pauseTimes(const std::vector<Request>& requests, const Spans& service,
                               const Spans& other) {
  std::vector<double> pauses;
  for (const Request& request : requests) {
    // The end of the last work of the service that began before the answer was there.
    CardTime served = request.launched;
    for (auto it = firstAfter(service, request.launched);
         it != service.end() && it->start < request.done; ++it) {
      served = std::min(it->end, request.done);
    }
    CardTime last = request.launched;
    for (auto it = firstAfter(other, request.launched); it != other.end() && it->start < served;
         ++it) {
      last = std::min(it->end, served);
    }
    pauses.push_back(millis(request.launched, last));
  }
  return pauses;
}

}  // namespace divvy::bench
