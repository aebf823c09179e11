// Settling turns marks that have come into time that a device was busy.
//
// A span's part counts as far as no other stream's covered it. Estimates are means of the additions
// of launches to that union, so concurrent streams add up to the device's time; exact samples
// silence others. By estimate alone, and counted as unmetered, go: no events to be had, the legacy
// stream while a capture is open, threads' default streams where the driver has no
// cuCtxRecordEvent. Copies that are waited for count as long as their call took. A stream's marks
// are written by the thread that has marking, and read by the thread that has the context's
// settling; both are only tried for.
#include "meter/settle_pass.h"

#include "cuda/capture_scope.h"
#include "cuda/current_context.h"
#include "runtime.h"
#include "threads/drain.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr unsigned kMaxQueries = 256;  // of one look at one context
constexpr std::uint64_t kTailBound = 100'000'000;
// In time of the card.
constexpr std::uint64_t kShortestLook = 100'000;
constexpr std::uint64_t kLongestLook = 2'000'000;
constexpr std::uint64_t kWindow = 4'000'000;
constexpr std::uint64_t kTailPatience = 50'000;

// A float of milliseconds is exact to 30 ns up to here.
constexpr std::int64_t kRebaseAfter = 500'000'000;

// The card's clock against the host's: better than one in twenty thousand.
constexpr std::uint64_t kDrift = 20'000;

// The time between two marks in a stream.
struct Span {
  std::uint64_t start = 0;  // on the meter's timeline
  std::uint64_t end = 0;
  bool queued = false;      // the launches were there before the first mark came: busy all the time
  std::uint64_t least = 0;  // busy at least this long: since the last launch had been made
  std::uint64_t single = 0;  // time of the only launch, if that was measured

  std::uint64_t length() const { return end - start; }
};

// The launches' part of the span. Known estimates are trusted, because a span that
// began in an idle stream may begin with the end of another tenant's work.
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

// The time of one launch in an idle stream: from the mark before it to the one behind it, less the
// time of its call. 0: the thread was held up in between.
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
  // A driver may be late to report that an event came.
  span.queued = mark.queued && static_cast<std::int64_t>(span.start - made) + 2 * doubt >= 0;
  const std::uint64_t last = made + static_cast<std::uint64_t>(doubt);
  if (!mark.fresh && at > last) span.least = at - (last > span.start ? last : span.start);
  if (record.last_fresh && mark.launches == 1 && mark.call != 0) {
    span.single = singleLaunch(mark, span.length(), usual_call);
  }
  return span;
}

}  // namespace

void SettlePass::run() {
  if (context_.streams.load(std::memory_order_relaxed) == nullptr &&
      context_.older.load(std::memory_order_acquire) == nullptr) {
    return;
  }
  if (context_.settling.exchange(true, std::memory_order_acquire)) {
    again(now_ + onHost(kShortestLook));
    return;
  }
  if (!context_.dying.load(std::memory_order_acquire)) settleAll();
  context_.settling.store(false, std::memory_order_release);
}

void SettlePass::settleAll() {
  const RelaxedCapture relaxed;
  const CurrentContext current(context_.context.load(std::memory_order_relaxed));
  settleOlder();
  StreamRecord* next = nullptr;
  for (StreamRecord* record = context_.streams.load(std::memory_order_acquire); record != nullptr;
       record = next) {
    next = record->next;
    settleStream(*record);
  }
  // Overdue work is estimated to take as long again.
  if (overdue_ != 0) device_.noteOverdue(now_, overdue_ / 2 + onHost(kShortestLook) / 5);
}

void SettlePass::settleOlder() {
  CUevent older = context_.older.load(std::memory_order_acquire);
  if (older == nullptr) return;
  if (real<Cu::cuEventQuery>()(older) == CUDA_ERROR_NOT_READY) {
    // Nothing is known of it, but for how long it has taken.
    const std::uint64_t at = context_.older_at;
    const std::uint64_t age = now_ > at ? now_ - at : 0;
    const std::uint64_t shortest = onHost(kShortestLook), longest = onHost(kLongestLook);
    again(now_ + (age / 4 < shortest ? shortest : age / 4 > longest ? longest : age / 4));
    overdue_ = 2 * longest + age;
    return;
  }
  context_.older.store(nullptr, std::memory_order_relaxed);
  context_.events.give(older);
  device_.settle(context_.older_sum);
  out_->ended = true;
}

void SettlePass::settleStream(StreamRecord& record) {
  for (std::uint32_t head = record.head.load(std::memory_order_relaxed);
       head != record.tail.load(std::memory_order_acquire); ++head) {
    const EventMarker& mark = record.marks[head % StreamRecord::kMarks];
    const CUresult result =
        queries_++ < kMaxQueries ? real<Cu::cuEventQuery>()(mark.event) : CUDA_ERROR_NOT_READY;
    if (result == CUDA_ERROR_NOT_READY) {
      const std::uint64_t late = now_ > mark.due ? now_ - mark.due : 0;
      if (late > overdue_) overdue_ = late;
      const std::uint64_t wait = late != 0 ? late / 4 : mark.due - now_;
      const std::uint64_t shortest = onHost(kShortestLook);
      const std::uint64_t longest = onHost(kLongestLook);
      again(now_ + (wait < shortest ? shortest : wait > longest ? longest : wait));
      return;
    }
    const EventMarker settled = mark;
    record.head.store(head + 1, std::memory_order_release);
    settleMark(record, settled, result == CUDA_SUCCESS);
  }
  settleTail(record, record.gone.load(std::memory_order_acquire));
  if (!record.gone.load(std::memory_order_acquire) || !record.empty()) return;
  if (record.kept != nullptr) keep(record, nullptr);
  parts_.tracker.release(context_, record);
}

// An error means that the event, or the context, is gone, and so is the work before it.
void SettlePass::settleMark(StreamRecord& record, const EventMarker& mark, bool seen) {
  std::uint64_t at = 0;
  if (seen && timeOf(record, mark.event, &at)) {
    if (!record.last_known) record.last_end = at - mark.sum;
    const Span span =
        spanOf(context_, record, mark, at, now_, parts_.usual_call.load(std::memory_order_relaxed));
    const std::uint64_t amount = record.last_known ? busyPart(mark, span) : mark.sum;
    const std::uint64_t covered = device_.cover(span.start, span.end, amount);
    const std::uint64_t certain = span.queued ? span.length() : span.least;
    device_.weigh(span.end - certain, span.end, mark.sum, onHost(kWindow));
    // Beside other streams only consecutive launches give a sample.
    const bool alone = span.single != 0 && covered + 1 >= amount;
    if (record.last_known && (span.queued || alone)) {
      learn(mark, covered, span.queued);
    } else if (device_.tookPermille() != 0) {
      learn(mark, mark.sum * device_.tookPermille() / 1000, true);
    }
    record.last_end = at;
    record.last_known = true;
    record.last_fresh = mark.fresh;
  } else {
    device_.addBusy(mark.sum);
    parts_.usage.noteUnmetered(mark.launches);
    record.last_known = false;
  }
  keep(record, mark.event);
  device_.settle(mark.sum);
  if (mark.launches == 0) return;
  parts_.usage.noteSettled(out_);
}

// Launches that no mark stands behind: when their estimates have passed one is put there. Where
// that is not possible they end by estimate in the end, or at once when the stream `ends`.
void SettlePass::settleTail(StreamRecord& record, bool ends) {
  const std::uint32_t launches = record.launches.load(std::memory_order_acquire);
  if (launches == 0) return;
  const std::uint64_t due =
      record.due.load(std::memory_order_relaxed) + (ends ? 0 : onHost(kTailPatience));
  if (!ends) {
    if (due > now_) return again(due);
    // Counted before the driver was asked, a launch may still be on its way.
    const bool inside = insideUnderOther(0);
    if (!inside && parts_.marks.recordLate(record, launches))
      return again(now_ + onHost(kTailPatience));
    if (inside || now_ - due < kTailBound) {
      if (overdue_ == 0) overdue_ = 1;
      return again(now_ + onHost(kTailPatience));
    }
  }
  if (record.marking.exchange(true, std::memory_order_acquire)) return;
  parts_.usage.noteUnmetered(record.launches.exchange(0, std::memory_order_acquire));
  const std::uint64_t sum = record.sum.exchange(0, std::memory_order_relaxed);
  record.marking.store(false, std::memory_order_release);
  if (record.last_known) {
    device_.cover(record.last_end, record.last_end + sum, sum);
    record.last_end += sum;
  } else {
    device_.addBusy(sum);
  }
  device_.settle(sum);
  parts_.usage.noteSettled(out_);
}

// When an event came, on the meter's timeline. The first one seen in a context is where that
// begins; one that came much later takes its place.
bool SettlePass::timeOf(StreamRecord& record, CUevent event, std::uint64_t* at) {
  std::int64_t passed = 0;
  if (context_.base != nullptr) {
    float milliseconds = 0;
    if (real<Cu::cuEventElapsedTime>()(&milliseconds, context_.base, event) != CUDA_SUCCESS) {
      return false;
    }
    passed = static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
    const std::int64_t host = passed * 1000 / parts_.time.permille();
    *at = context_.base_at + static_cast<std::uint64_t>(host);
    if (passed < kRebaseAfter) return true;
    if (context_.base_keeper == nullptr) context_.events.give(context_.base);
  } else {
    *at = now_;
  }
  context_.base = event;
  context_.base_keeper = &record;
  context_.base_at = *at;
  return true;
}

// The stream's newest settled mark has this event; the one before is free, unless it is the base.
void SettlePass::keep(StreamRecord& record, CUevent event) {
  CUevent before = record.kept;
  record.kept = event;
  if (before == nullptr) return;
  if (before == context_.base) {
    context_.base_keeper = nullptr;
  } else {
    context_.events.give(before);
  }
}

// `covered` is the time that the mark's launches added to the device's busy time. With
// several streams it is less than their own time, so that estimates add up to the device's
// time.
void SettlePass::learn(const EventMarker& mark, std::uint64_t covered, bool exact) {
  if (mark.alike == nullptr || mark.launches == 0) return;
  mark.alike->learn(covered / mark.launches, exact);
  if (!mark.single_kernel || mark.alike->samples() < 2) return;
  // Not the sample: another tenant's work may have come between.
  parts_.usage.noteLongest(mark.alike->duration());
}

void SettlePass::end() {
  const RelaxedCapture relaxed;
  for (StreamRecord* record = context_.streams.load(std::memory_order_acquire); record != nullptr;
       record = record->next) {
    for (std::uint32_t head = record->head.load(std::memory_order_relaxed);
         head != record->tail.load(std::memory_order_acquire); ++head) {
      const EventMarker mark = record->marks[head % StreamRecord::kMarks];
      const bool came = real<Cu::cuEventQuery>()(mark.event) == CUDA_SUCCESS;
      record->head.store(head + 1, std::memory_order_release);
      settleMark(*record, mark, came);
    }
    parts_.tracker.close(*record);
    settleTail(*record, true);
    if (record->kept != nullptr) keep(*record, nullptr);
  }
  if (context_.older.load(std::memory_order_relaxed) != nullptr) {
    context_.events.give(context_.older.exchange(nullptr, std::memory_order_relaxed));
    device_.settle(context_.older_sum);
  }
  if (context_.base != nullptr) context_.events.give(context_.base);
  context_.events.drain();
  parts_.tracker.drop(context_);
}

}  // namespace divvy::interposer
