// What is right and wrong about how tenants shared a card, from what the card did: intervals in
// which each had the compute engine. Pure functions; nothing Divvy says about itself comes in here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace divvy::bench {

// The card's clock, nanoseconds.
using CardTime = std::uint64_t;
inline constexpr double kNanosPerSecond = 1e9;
inline constexpr double kNanosPerMilli = 1e6;

// [start, end).
struct Span {
  CardTime start = 0;
  CardTime end = 0;
  double seconds() const { return end > start ? static_cast<double>(end - start) / 1e9 : 0; }
};

// Of one tenant: in order of time, not overlapping.
using Spans = std::vector<Span>;

// Sorts, and joins what overlaps or touches.
Spans united(Spans spans);

// Seconds of `spans` within `range`.
double busySeconds(const Spans& spans, Span range);

// Consecutive windows of `length` from the start of `range`; what is left at its end is no window.
std::vector<Span> windowsOf(Span range, CardTime length);

struct ShareError {
  double pp = 0;  // |got / sum of got - weight| in percentage points; NaN: no window
  std::size_t tenant = 0;
  std::size_t window = 0;
};

// The worst tenant in the worst window. `weights` in any unit; they are shares of their sum. A
// window in which nobody ran is wrong by 100.
ShareError worstShareError(const std::vector<Spans>& tenants, const std::vector<double>& weights,
                           Span range, CardTime length);

// Sum over tenants of got / solo, where `solo` is the part of the time (0..1) in which that tenant
// keeps the card busy when it is alone. 1: sharing costs nothing. NaN without a usable solo.
double totalVsSolo(const std::vector<Spans>& tenants, const std::vector<double>& solo, Span range);

struct CapError {
  double mean_pp = 0;  // |busy part of the wall time - cap|, worst window of 10 s
  double over_pp = 0;  // busiest window of 1 s minus the cap
};
// `cap` in percent. NaN without a window.
CapError capError(const Spans& spans, double cap, Span range);

// Busy part of the wall time of `spans` while nobody of `other` asks for the card: over all of
// `pauses`, against `solo`. The first `settle` of each pause is left out: work that was still
// queued.
double idleReclaimed(const Spans& spans, const std::vector<Span>& pauses, CardTime settle,
                     double solo);

// From each instant in `returns` until `spans` has had its `part` of the time since then, in
// milliseconds; the time itself is part of it, so that who waits 10 ms and then runs for 10 ms has
// had one half after 20. Infinite when it never happens before `end`.
std::vector<double> returnDelays(const Spans& spans, const std::vector<CardTime>& returns,
                                 double part, CardTime end);
// From each instant until `spans` first runs, in milliseconds.
std::vector<double> startDelays(const Spans& spans, const std::vector<CardTime>& instants,
                                CardTime end);

// What `filler` got of the time that `first` left, 0..1.
double shareOfGaps(const Spans& first, const Spans& filler, Span range);

// A request of a latency service: when its first launch was tried and when its answer was there.
struct Request {
  CardTime launched = 0;
  CardTime done = 0;
};
// For each request: from its first launch until the last moment at which `other` still ran before
// the request's last work on the card (`service`) ended; milliseconds, 0 when it did not run then.
std::vector<double> pauseTimes(const std::vector<Request>& requests, const Spans& service,
                               const Spans& other);

}  // namespace divvy::bench
