// Passage of time: which context holds which engine, and which operations end.
#include <algorithm>
#include <bit>

#include "timeline/timeline.h"
#include "timeline/timeline_lists.h"

namespace divvy::simgpu {

namespace {

constexpr std::uint64_t kFullRate = 1000;

bool testBit(const LaneBits& bits, std::uint32_t lane) {
  return bits[lane / 64] >> lane % 64 & 1;
}

// The first set bit at or after `from`; kNoLane if none up to the end.
std::uint32_t findBit(const LaneBits& bits, std::uint32_t from) {
  for (std::uint32_t word = from / 64; word < bits.size(); ++word) {
    std::uint64_t value = bits[word];
    if (word == from / 64) value &= ~0ULL << from % 64;
    if (value != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(value));
  }
  return kNoLane;
}

}  // namespace

void Timeline::refreshBusy(std::uint32_t lane, int e) {
  const Lane& l = s_.lanes[lane];
  const bool busy = listOf(l, static_cast<ListId>(e)).head != kNil ||
                    (e == 0 && listOf(l, ListId::kOpen).head != kNil);
  const std::uint64_t mask = 1ULL << lane % 64;
  std::uint64_t& word = s_.engines[e].busy[lane / 64];
  word = busy ? word | mask : word & ~mask;
}

std::uint32_t Timeline::nextBusy(const EngineState& g) const {
  const std::uint32_t after = g.cursor + 1U < kMaxLanes ? g.cursor + 1U : 0;
  const std::uint32_t found = findBit(g.busy, after);
  return found != kNoLane ? found : findBit(g.busy, 0);
}

bool Timeline::othersBusy(const EngineState& g) const {
  for (std::uint32_t word = 0; word < g.busy.size(); ++word) {
    std::uint64_t value = g.busy[word];
    if (g.lane != kNoLane && word == g.lane / 64U) value &= ~(1ULL << g.lane % 64);
    if (value != 0) return true;
  }
  return false;
}

void Timeline::completeMarkers() {
  for (std::uint32_t lane = findBit(s_.due, 0); lane != kNoLane; lane = findBit(s_.due, 0)) {
    Lane& l = s_.lanes[lane];
    while (listOf(l, ListId::kDue).head != kNil) {
      const std::uint16_t slot = listOf(l, ListId::kDue).head;
      op(lane, slot).start_ns = op(lane, slot).ready_ns;
      complete(lane, slot, op(lane, slot).ready_ns);
    }
    s_.due[lane / 64] &= ~(1ULL << lane % 64);
  }
}

void Timeline::reschedule() {
  completeMarkers();
  for (int e = 0; e < kEngineCount; ++e) rescheduleEngine(e);
}

void Timeline::switchTo(int e, std::uint32_t lane) {
  EngineState& g = s_.engines[e];
  const Nanos now = s_.frontier;
  const bool costs = e == 0 && g.resident != kNoLane && g.resident != lane;
  g.switch_until = costs ? now + s_.config.switch_cost : now;
  g.switches += g.resident != kNoLane && g.resident != lane;
  g.lane = g.resident = g.cursor = static_cast<std::uint16_t>(lane);
  g.slice_end = g.switch_until + s_.lanes[lane].timeslice;
}

void Timeline::rescheduleEngine(int e) {
  EngineState& g = s_.engines[e];
  const Nanos now = s_.frontier;
  const bool holds = g.lane != kNoLane && testBit(g.busy, g.lane);
  std::uint32_t lane = g.lane;
  if (!holds || now >= g.slice_end) {
    lane = nextBusy(g);
    if (lane == kNoLane || lane != g.lane) logRun(e, false);
    if (lane == kNoLane) {
      g.lane = kNoLane;
      g.op = kNil;
      return;
    }
    if (lane != g.lane) {
      g.op = kNil;
      switchTo(e, lane);
    } else if (now >= g.slice_end) {  // without rivals the slice timer continues
      const Nanos slice = s_.lanes[lane].timeslice;
      g.slice_end += ((now - g.slice_end) / slice + 1) * slice;
    }
  }
  const Lane& l = s_.lanes[lane];
  std::uint16_t slot = listOf(l, static_cast<ListId>(e)).head;
  if (slot == kNil) slot = listOf(l, ListId::kOpen).head;
  if (slot == g.op) return;
  logRun(e, false);
  g.op = slot;
  g.run_start = std::max(now, g.switch_until);
}

// Copies in both directions at once may slow each other down.
std::uint32_t Timeline::rate(int e) const {
  if (e == 0) return kFullRate;
  const EngineState& other = s_.engines[e == 1 ? 2 : 1];
  return other.op == kNil ? kFullRate : s_.config.duplex_permille;
}

Nanos Timeline::nextTransition(int e) const {
  const EngineState& g = s_.engines[e];
  if (g.op == kNil) return kNever;
  if (s_.frontier < g.switch_until) return g.switch_until;
  const Op& o = op(g.lane, g.op);
  const std::uint64_t speed = rate(e);
  const Nanos end = o.owner_ends ? kNever : s_.frontier + (o.work + speed - 1) / speed;
  return othersBusy(g) ? std::min(end, g.slice_end) : end;
}

bool Timeline::holdsEngine(std::uint32_t lane, int e) const {
  return s_.engines[e].lane == lane && s_.frontier >= s_.engines[e].switch_until;
}

// Kernels without a known end count as small: they run beside the others of their context.
void Timeline::startOpen() {
  const std::uint16_t lane = s_.engines[0].lane;
  if (lane == kNoLane || !holdsEngine(lane, 0)) return;
  for (std::uint16_t slot = listOf(s_.lanes[lane], ListId::kOpen).head; slot != kNil;
       slot = op(lane, slot).next) {
    if (op(lane, slot).start_ns == 0) op(lane, slot).start_ns = s_.frontier;
  }
}

void Timeline::progress(Nanos until) {
  startOpen();
  const Nanos step = until - s_.frontier;
  std::array<std::uint64_t, kEngineCount> speed{};
  for (int e = 0; e < kEngineCount; ++e) speed[e] = rate(e);
  for (int e = 0; e < kEngineCount; ++e) {
    EngineState& g = s_.engines[e];
    if (g.op == kNil || s_.frontier < g.switch_until) continue;
    Op& o = op(g.lane, g.op);
    if (o.start_ns == 0) o.start_ns = s_.frontier;
    if (!o.owner_ends) o.work -= std::min(o.work, step * speed[e]);
  }
  s_.frontier = until;
}

void Timeline::completeFinished() {
  for (int e = 0; e < kEngineCount; ++e) {
    EngineState& g = s_.engines[e];
    if (g.op == kNil) continue;
    Op& o = op(g.lane, g.op);
    if (o.owner_ends || o.work != 0) continue;
    logRun(e, true);
    const std::uint16_t slot = g.op;
    g.op = kNil;
    complete(g.lane, slot, s_.frontier);
  }
}

void Timeline::stopRun(std::uint32_t lane, std::uint16_t slot, bool ended) {
  for (int e = 0; e < kEngineCount; ++e) {
    EngineState& g = s_.engines[e];
    if (g.lane != lane || g.op != slot) continue;
    logRun(e, ended);
    g.op = kNil;
  }
}

void Timeline::advance(Nanos now) {
  while (s_.frontier < now) {
    Nanos until = now;
    for (int e = 0; e < kEngineCount; ++e) until = std::min(until, nextTransition(e));
    progress(until);
    completeFinished();
    reschedule();
  }
  for (int e = 0; e < kEngineCount; ++e) logRun(e, false);
  s_.log.horizon = s_.frontier;
}

// Logs what ran since the last call; adjoining runs of one lane share a record.
void Timeline::logRun(int e, bool ended) {
  EngineState& g = s_.engines[e];
  const Nanos now = s_.frontier;
  if (g.op == kNil || (now <= g.run_start && !ended)) return;
  const Op& o = op(g.lane, g.op);
  Lane& l = s_.lanes[g.lane];
  const Nanos start = std::min(g.run_start, now);
  IntervalLog& log = s_.log;
  log.generation.fetch_add(1, std::memory_order_acq_rel);
  const std::uint64_t last = l.last_record[e];
  IntervalRecord* record = last == 0 ? nullptr : &log.ring[(last - 1) % kLogRecords];
  const bool extends = record != nullptr && log.next - last < kLogRecords &&
                       record->end_ns == start && record->kind == o.kind;
  if (!extends) {
    record = &log.ring[log.next % kLogRecords];
    *record = {.start_ns = start,
               .end_ns = start,
               .bytes = 0,
               .pid = l.pid,
               .context_uid = l.context_uid,
               .ops = 0,
               .engine = static_cast<std::uint8_t>(e),
               .kind = o.kind,
               .reserved = 0};
    l.last_record[e] = ++log.next;
  }
  record->end_ns = now;
  if (ended) {
    record->bytes += o.bytes;
    ++record->ops;
  }
  log.generation.fetch_add(1, std::memory_order_acq_rel);
  l.totals[e].busy_ns += now - start;
  g.busy_ns += now - start;
  if (sink_ != nullptr && now > start) sink_->ran(l, static_cast<Engine>(e), start, now);
  if (ended) {
    ++l.totals[e].ops;
    l.totals[e].bytes += o.bytes;
  }
  g.run_start = now;
}

}  // namespace divvy::simgpu
