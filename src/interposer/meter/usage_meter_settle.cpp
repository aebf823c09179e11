// The settling side of the meter: completed marks become time that a device was busy.
//
// A span counts as far as no other stream's span covered it. Estimates are means of what launches
// added to that union, so concurrent streams add up to what the device can do. Exact samples
// replace others. Some work is only estimated, and counted as unmetered: without events; in the
// legacy stream while a capture is open; in threads' default streams if the driver has no
// cuCtxRecordEvent. Synchronous copies count as long as their call took. The holder of `marking`
// writes a stream's marks, the holder of the context's `settling` reads them; both flags are only
// tried.
#include "cuda/capture_scope.h"
#include "cuda/current_context.h"
#include "meter/usage_meter.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/drain.h"
#include "threads/thread_state.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr unsigned kMaxQueries = 256;  // of one pass over one context
constexpr std::uint64_t kTailBound = 100'000'000;
// In time of the card.
constexpr std::uint64_t kShortestLook = 100'000;
constexpr std::uint64_t kLongestLook = 2'000'000;
constexpr std::uint64_t kWindow = 4'000'000;
constexpr std::uint64_t kTailPatience = 50'000;

// A float of milliseconds is exact to 30 ns up to here.
constexpr std::int64_t kRebaseAfter = 500'000'000;

constexpr unsigned kPatience = 20'000;
constexpr int kPatientNaps = 2'000;
constexpr long kNap = 50'000;

// Drift of the card's clock against the host's: better than one in twenty thousand.
constexpr std::uint64_t kDrift = 20'000;

// The time between two marks in a stream.
struct Span {
  std::uint64_t start = 0;  // on the meter's timeline
  std::uint64_t end = 0;
  // the launches were queued before the first mark completed, so the device was busy all the time
  bool queued = false;
  std::uint64_t least = 0;   // minimum busy time: since the last launch was made
  std::uint64_t single = 0;  // duration of the only launch, if it was measured

  std::uint64_t length() const { return end - start; }
};

// The part of a span that its launches used. Known estimates take precedence, because a span that
// began in an idle stream may include the end of another tenant's work.
std::uint64_t busyPart(const EventMarker& mark, const Span& span) {
  if (mark.launches == 0) return 0;
  if (span.queued) return span.length();
  const std::uint64_t sum = mark.sum < span.length() ? mark.sum : span.length();
  const bool known = mark.alike == nullptr || mark.alike->samples() != 0;
  const bool sure = mark.alike != nullptr && mark.alike->sure();
  if (mark.fresh || (sure && span.single == 0)) return sum;
  const std::uint64_t most = sum + sum / (sure ? 16 : 4);
  const std::uint64_t seen = span.single != 0 ? span.single : span.least;
  if (known && seen > most && (sure || span.single == 0)) return most;
  return span.single != 0 || seen > sum ? seen : sum;
}

// Duration of one launch in an idle stream: from the mark before it to the one after it, less the
// time of its call. 0: the thread was descheduled in between.
std::uint64_t singleLaunch(const EventMarker& mark, std::uint64_t length,
                           std::uint64_t usual_call) {
  if (mark.call > length / 2 && mark.call > 4 * usual_call) return 0;
  const std::uint64_t least = length / 8 + 1;
  return mark.call + least < length ? length - mark.call : least;
}

Span spanOf(ContextRecord& context, const StreamRecord& record, const EventMarker& mark,
            std::uint64_t at, std::uint64_t now, std::uint64_t usual_call) {
  const auto ahead = static_cast<std::int64_t>(at - mark.recorded);
  const auto aging = static_cast<std::int64_t>((now - context.lead_at) / kDrift);
  if (context.lead == INT64_MAX || ahead <= context.lead + aging) {
    context.lead = ahead;
    context.lead_at = now;
  }
  Span span;
  span.end = at;
  span.start = record.last_end < at ? record.last_end : at;
  const auto doubt = static_cast<std::int64_t>((now - context.lead_at) / kDrift);
  const auto made = static_cast<std::uint64_t>(static_cast<std::int64_t>(mark.made) + context.lead);
  // A driver may report the completion of an event late.
  span.queued = mark.queued && static_cast<std::int64_t>(span.start - made) + 2 * doubt >= 0;
  const std::uint64_t last = made + static_cast<std::uint64_t>(doubt);
  if (!mark.fresh && at > last) span.least = at - (last > span.start ? last : span.start);
  if (record.last_fresh && mark.launches == 1 && mark.call != 0) {
    span.single = singleLaunch(mark, span.length(), usual_call);
  }
  return span;
}

}  // namespace

struct UsageMeter::SettlePass {
  ContextRecord& context;
  Device& device;
  Settled* out;
  std::uint64_t now;
  std::uint64_t overdue = 0;  // delay of the latest mark
  unsigned queries = 0;

  void again(std::uint64_t at) {
    if (at < out->look_at) out->look_at = at;
  }
};

Settled UsageMeter::settle(std::uint64_t now) {
  Settled out;
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  for (Device& device : devices_) device.overdue.store(false, std::memory_order_relaxed);
  book_.forEachContext([&](ContextRecord& context) { settleContext(context, now, &out); });
  for (std::uint32_t bits = used_devices_.load(std::memory_order_relaxed); bits != 0;
       bits &= bits - 1) {
    Device& device = devices_[__builtin_ctz(bits)];
    settleLoose(device, now, &out);
    correct(device, now);
  }
  return out;
}

void UsageMeter::settleContext(ContextRecord& context, std::uint64_t now, Settled* out) {
  SettlePass look{context, devices_[context.device], out, now};
  if (context.streams.load(std::memory_order_relaxed) == nullptr &&
      context.older.load(std::memory_order_acquire) == nullptr) {
    return;
  }
  if (context.settling.exchange(true, std::memory_order_acquire)) {
    look.again(now + card(kShortestLook));
    return;
  }
  if (!context.dying.load(std::memory_order_acquire)) {
    const RelaxedCapture relaxed;
    const CurrentContext current(context.context.load(std::memory_order_relaxed));
    settleOlder(look);
    StreamRecord* next = nullptr;
    for (StreamRecord* record = context.streams.load(std::memory_order_acquire); record != nullptr;
         record = next) {
      next = record->next;
      settleStream(look, *record);
    }
    // Work that should have ended and did not is expected to take as long again.
    if (look.overdue != 0) {
      look.device.overdue.store(true, std::memory_order_relaxed);
      const std::uint64_t more = look.overdue / 2 + card(kShortestLook) / 5;
      std::uint64_t until = look.device.until.load(std::memory_order_relaxed);
      if (until < now + more) {
        look.device.until.compare_exchange_strong(until, now + more, std::memory_order_relaxed);
      }
    }
  }
  context.settling.store(false, std::memory_order_release);
}

void UsageMeter::settleOlder(SettlePass& look) {
  CUevent older = look.context.older.load(std::memory_order_acquire);
  if (older == nullptr) return;
  if (real<Cu::cuEventQuery>()(older) == CUDA_ERROR_NOT_READY) {
    // Only its age is known.
    const std::uint64_t at = look.context.older_at;
    const std::uint64_t age = look.now > at ? look.now - at : 0;
    const std::uint64_t shortest = card(kShortestLook), longest = card(kLongestLook);
    look.again(look.now + (age / 4 < shortest ? shortest : age / 4 > longest ? longest : age / 4));
    look.overdue = 2 * longest + age;
    return;
  }
  look.context.older.store(nullptr, std::memory_order_relaxed);
  look.context.events.give(older);
  look.device.unsettled.fetch_sub(look.context.older_sum, std::memory_order_relaxed);
  look.out->ended = true;
}

void UsageMeter::settleStream(SettlePass& look, StreamRecord& record) {
  for (std::uint32_t head = record.head.load(std::memory_order_relaxed);
       head != record.tail.load(std::memory_order_acquire); ++head) {
    const EventMarker& mark = record.marks[head % StreamRecord::kMarks];
    const CUresult result =
        look.queries++ < kMaxQueries ? real<Cu::cuEventQuery>()(mark.event) : CUDA_ERROR_NOT_READY;
    if (result == CUDA_ERROR_NOT_READY) {
      const std::uint64_t late = look.now > mark.due ? look.now - mark.due : 0;
      if (late > look.overdue) look.overdue = late;
      const std::uint64_t wait = late != 0 ? late / 4 : mark.due - look.now;
      const std::uint64_t shortest = card(kShortestLook);
      const std::uint64_t longest = card(kLongestLook);
      look.again(look.now + (wait < shortest ? shortest : wait > longest ? longest : wait));
      return;
    }
    const EventMarker settled = mark;
    record.head.store(head + 1, std::memory_order_release);
    settleMark(look, record, settled, result == CUDA_SUCCESS);
  }
  settleTail(look, record, record.gone.load(std::memory_order_acquire));
  if (!record.gone.load(std::memory_order_acquire) || !record.empty()) return;
  if (record.kept != nullptr) keep(look.context, record, nullptr);
  book_.release(look.context, record);
}

// An error means that the event or its context no longer exists, nor does the work before it.
void UsageMeter::settleMark(SettlePass& look, StreamRecord& record, const EventMarker& mark,
                            bool seen) {
  Device& device = look.device;
  std::uint64_t at = 0;
  if (seen && timeOf(look, record, mark.event, &at)) {
    if (!record.last_known) record.last_end = at - mark.sum;
    const Span span = spanOf(look.context, record, mark, at, look.now,
                             usual_call_.load(std::memory_order_relaxed));
    const std::uint64_t amount = record.last_known ? busyPart(mark, span) : mark.sum;
    const std::uint64_t covered = cover(device, span.start, span.end, amount);
    const std::uint64_t certain = span.queued ? span.length() : span.least;
    weigh(device, span.end - certain, span.end, mark.sum);
    // With other streams active, only consecutive launches give a valid sample.
    const bool alone = span.single != 0 && covered + 1 >= amount;
    if (record.last_known && (span.queued || alone)) {
      learn(mark, covered, span.queued);
    } else if (device.took_permille != 0) {
      learn(mark, mark.sum * device.took_permille / 1000, true);
    }
    record.last_end = at;
    record.last_known = true;
    record.last_fresh = mark.fresh;
  } else {
    device.busy.fetch_add(mark.sum, std::memory_order_relaxed);
    unmetered_.fetch_add(mark.launches, std::memory_order_relaxed);
    record.last_known = false;
  }
  keep(look.context, record, mark.event);
  device.unsettled.fetch_sub(mark.sum, std::memory_order_relaxed);
  if (mark.launches == 0) return;
  settles_.fetch_add(1, std::memory_order_relaxed);
  look.out->ended = true;
}

// Handles launches without a mark after them. When their estimates have passed, a mark is added. If
// that is impossible, they finally end by estimate, or at once when the stream `ends`.
void UsageMeter::settleTail(SettlePass& look, StreamRecord& record, bool ends) {
  const std::uint32_t launches = record.launches.load(std::memory_order_acquire);
  if (launches == 0) return;
  const std::uint64_t due =
      record.due.load(std::memory_order_relaxed) + (ends ? 0 : card(kTailPatience));
  if (!ends) {
    if (due > look.now) return look.again(due);
    // A launch that was counted before the driver call may not have been made yet.
    const bool inside = insideUnderOther(0);
    if (!inside && markLate(record, launches)) return look.again(look.now + card(kTailPatience));
    if (inside || look.now - due < kTailBound) {
      if (look.overdue == 0) look.overdue = 1;
      return look.again(look.now + card(kTailPatience));
    }
  }
  if (record.marking.exchange(true, std::memory_order_acquire)) return;
  unmetered_.fetch_add(record.launches.exchange(0, std::memory_order_acquire),
                       std::memory_order_relaxed);
  const std::uint64_t sum = record.sum.exchange(0, std::memory_order_relaxed);
  record.marking.store(false, std::memory_order_release);
  if (record.last_known) {
    cover(look.device, record.last_end, record.last_end + sum, sum);
    record.last_end += sum;
  } else {
    look.device.busy.fetch_add(sum, std::memory_order_relaxed);
  }
  look.device.unsettled.fetch_sub(sum, std::memory_order_relaxed);
  settles_.fetch_add(1, std::memory_order_relaxed);
  look.out->ended = true;
}

void UsageMeter::settleLoose(Device& device, std::uint64_t now, Settled* out) {
  if (device.loose_sum.load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t until = device.until.load(std::memory_order_relaxed);
  if (until > now) {
    if (until < out->look_at) out->look_at = until;
    return;
  }
  const std::uint64_t sum = device.loose_sum.exchange(0, std::memory_order_relaxed);
  device.busy.fetch_add(sum, std::memory_order_relaxed);
  unmetered_.fetch_add(device.loose_launches.exchange(0, std::memory_order_relaxed),
                       std::memory_order_relaxed);
  device.unsettled.fetch_sub(sum, std::memory_order_relaxed);
  settles_.fetch_add(1, std::memory_order_relaxed);
  out->ended = true;
}

// Work in flight cannot take longer than its estimates from now on, unless it already has.
void UsageMeter::correct(Device& device, std::uint64_t now) {
  if (device.overdue.load(std::memory_order_relaxed)) return;
  const std::uint64_t left = device.unsettled.load(std::memory_order_relaxed);
  std::uint64_t until = device.until.load(std::memory_order_relaxed);
  if (until > now + left) {
    device.until.compare_exchange_strong(until, now + left, std::memory_order_relaxed);
  }
}

// The instant of an event on the meter's timeline. The first event in a context is the origin; a
// much later one replaces it.
bool UsageMeter::timeOf(SettlePass& look, StreamRecord& record, CUevent event, std::uint64_t* at) {
  ContextRecord& context = look.context;
  std::int64_t passed = 0;
  if (context.base != nullptr) {
    float milliseconds = 0;
    if (real<Cu::cuEventElapsedTime>()(&milliseconds, context.base, event) != CUDA_SUCCESS) {
      return false;
    }
    passed = static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
    const std::int64_t host = passed * 1000 / permille_.load(std::memory_order_relaxed);
    *at = context.base_at + static_cast<std::uint64_t>(host);
    if (passed < kRebaseAfter) return true;
    if (context.base_keeper == nullptr) context.events.give(context.base);
  } else {
    *at = look.now;
  }
  context.base = event;
  context.base_keeper = &record;
  context.base_at = *at;
  return true;
}

// Keeps the event of the stream's newest settled mark; the former one is returned, unless it is the
// origin.
void UsageMeter::keep(ContextRecord& context, StreamRecord& record, CUevent event) {
  CUevent before = record.kept;
  record.kept = event;
  if (before == nullptr) return;
  if (before == context.base) {
    context.base_keeper = nullptr;
  } else {
    context.events.give(before);
  }
}

// `covered` is what the mark's launches added to the busy time of the device. With several streams
// that is less than their own time, so that estimates add up to what the device can do.
void UsageMeter::learn(const EventMarker& mark, std::uint64_t covered, bool exact) {
  if (mark.alike == nullptr || mark.launches == 0) return;
  mark.alike->learn(covered / mark.launches, exact);
  if (!mark.single_kernel || mark.alike->samples() < 2) return;
  // Not the sample, because another tenant's work may have intervened.
  const std::uint64_t duration = mark.alike->duration();
  if (duration > longest_.load(std::memory_order_relaxed)) {
    longest_.store(duration, std::memory_order_relaxed);
  }
}

// Counts `amount` within an interval of the device's timeline, and returns how much of it was new.
std::uint64_t UsageMeter::cover(Device& device, std::uint64_t start, std::uint64_t end,
                                std::uint64_t amount) {
  for (unsigned i = 0; device.uniting.exchange(true, std::memory_order_acquire); ++i) {
    if (i < kPatience) continue;
    device.busy.fetch_add(amount, std::memory_order_relaxed);
    return amount;
  }
  const std::uint64_t covered = device.united.add(start, end, amount);
  device.uniting.store(false, std::memory_order_release);
  device.busy.fetch_add(covered, std::memory_order_relaxed);
  return covered;
}

// If the device was busy all through the last few milliseconds, the work there took that long in
// total.
void UsageMeter::weigh(Device& device, std::uint64_t start, std::uint64_t end, std::uint64_t sum) {
  if (device.uniting.exchange(true, std::memory_order_acquire)) return;
  device.window_certain += device.certain.add(start, end, end - start);
  device.window_sum += sum;
  const std::uint64_t wall = end > device.window_start ? end - device.window_start : 0;
  if (wall >= card(kWindow)) {
    const bool full = device.window_certain >= wall - wall / 20 && wall < 4 * card(kWindow);
    device.took_permille = full && device.window_sum != 0 ? wall * 1000 / device.window_sum : 0;
    device.window_start = end;
    device.window_certain = device.window_sum = 0;
  }
  device.uniting.store(false, std::memory_order_release);
}

void UsageMeter::forgetStream(CUstream stream) {
  if (used_devices_.load(std::memory_order_relaxed) == 0) return;
  const ErrnoKeeper keeper;
  StreamRecord* record = book_.find(stream);
  if (record == nullptr) return;
  mark();
  if (record->launches.load(std::memory_order_relaxed) != 0) recordMark(*record, {});
  book_.close(*record);
  epoch_.fetch_add(1, std::memory_order_release);
  // A thread that began to record an event there has a tenth of a second to return.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 0; record->marking.load(std::memory_order_acquire) && i < kPatientNaps; ++i) {
    sys::nap(kNap);
  }
}

void UsageMeter::forgetContext(CUcontext context) {
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  book_.forEachContext([&](ContextRecord& record) {
    if (context == nullptr || record.context.load(std::memory_order_relaxed) == context) {
      endContext(record);
    }
  });
}

// A thread that reads the context's events has a tenth of a second to return from the driver.
void UsageMeter::endContext(ContextRecord& context) {
  context.dying.store(true, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  for (int i = 0; context.settling.exchange(true, std::memory_order_acquire); ++i) {
    if (i == kPatientNaps) return;  // its record stays in use for good
    sys::nap(kNap);
  }
  Device& device = devices_[context.device];
  Settled ignored;
  SettlePass look{context, device, &ignored, sys::now()};
  const RelaxedCapture relaxed;
  for (StreamRecord* record = context.streams.load(std::memory_order_acquire); record != nullptr;
       record = record->next) {
    for (std::uint32_t head = record->head.load(std::memory_order_relaxed);
         head != record->tail.load(std::memory_order_acquire); ++head) {
      const EventMarker mark = record->marks[head % StreamRecord::kMarks];
      const bool came = real<Cu::cuEventQuery>()(mark.event) == CUDA_SUCCESS;
      record->head.store(head + 1, std::memory_order_release);
      settleMark(look, *record, mark, came);
    }
    book_.close(*record);
    settleTail(look, *record, true);
    if (record->kept != nullptr) keep(context, *record, nullptr);
  }
  if (context.older.load(std::memory_order_relaxed) != nullptr) {
    context.events.give(context.older.exchange(nullptr, std::memory_order_relaxed));
    device.unsettled.fetch_sub(context.older_sum, std::memory_order_relaxed);
  }
  if (context.base != nullptr) context.events.give(context.base);
  context.events.drain();
  book_.drop(context);
  context.dying.store(false, std::memory_order_release);
  context.settling.store(false, std::memory_order_release);
}

void UsageMeter::forgetAfterFork() {
  book_.forgetAfterFork();
  for (Device& device : devices_) {
    device.unsettled.store(0, std::memory_order_relaxed);
    device.until.store(0, std::memory_order_relaxed);
    device.overdue.store(false, std::memory_order_relaxed);
    device.busy.store(0, std::memory_order_relaxed);
    device.loose_sum.store(0, std::memory_order_relaxed);
    device.loose_launches.store(0, std::memory_order_relaxed);
    device.uniting.store(false, std::memory_order_relaxed);
    device.united.clear();
    device.certain.clear();
    device.window_start = device.window_certain = device.window_sum = device.took_permille = 0;
  }
  used_devices_.store(0, std::memory_order_relaxed);
  unmetered_.store(0, std::memory_order_relaxed);
  settles_.store(0, std::memory_order_relaxed);
  longest_.store(0, std::memory_order_relaxed);
  divvy_meter = {};
  resume();
}

}  // namespace divvy::interposer
