// The launching side of the meter: work in flight, and the marks after it.
#include "meter/usage_meter.h"

#include "cuda/capture_scope.h"
#include "cuda/current_context.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/thread_state.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

// In time of the card.
constexpr std::uint64_t kUnknown = 100'000;
constexpr std::uint64_t kMemop = 2'000;
constexpr std::uint64_t kCopyLatency = 2'000;
constexpr std::uint64_t kCopyBytesPerMicrosecond = 10'000;
constexpr std::uint64_t kFlushAt = 50'000;
constexpr std::uint64_t kMarkAt = 500'000;

// one of so many launches is measured by itself, on average
constexpr std::uint32_t kSampling = 256;

bool mayRecordIn(const StreamRecord& record) {
  if (!runtime().captures.open()) return true;
  if (record.legacy()) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = record.perThread()
                              ? real<Cu::cuStreamIsCapturing_ptsz>()(nullptr, &status)
                              : real<Cu::cuStreamIsCapturing>()(record.handle(), &status);
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE;
}

// No other thread can name a thread's default stream; only the whole context can be marked there.
CUresult recordLate(const StreamRecord& record, CUcontext context, CUevent event) {
  if (!record.perThread()) return real<Cu::cuEventRecord>()(event, record.handle());
  if (!runtime().driver.has(Cu::cuCtxRecordEvent)) return CUDA_ERROR_NOT_SUPPORTED;
  return real<Cu::cuCtxRecordEvent>()(context, event);
}

CUresult recordIn(const StreamRecord& record, CUevent event) {
  return record.perThread() ? real<Cu::cuEventRecord_ptsz>()(event, nullptr)
                            : real<Cu::cuEventRecord>()(event, record.handle());
}

// With `marking` held: the newest mark has not completed.
bool markPending(const StreamRecord& record) {
  if (record.empty()) return false;
  const std::uint32_t newest = record.tail.load(std::memory_order_relaxed) - 1;
  const RelaxedCapture relaxed;
  return real<Cu::cuEventQuery>()(record.marks[newest % StreamRecord::kMarks].event) ==
         CUDA_ERROR_NOT_READY;
}

// Takes up to `amount` out of an account, and returns how much that was.
template <typename Number>
Number takeFrom(std::atomic<Number>& account, Number amount) {
  Number there = account.load(std::memory_order_relaxed);
  Number taken;
  do {
    taken = there < amount ? there : amount;
  } while (!account.compare_exchange_weak(there, there - taken, std::memory_order_relaxed));
  return taken;
}

}  // namespace

// Never a constant, because the application's own period could be a multiple of it.
std::uint32_t UsageMeter::samplingGap(ThreadStreams& thread) {
  std::uint32_t random = thread.random == 0 ? 0x9E3779B9u : thread.random;
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  thread.random = random;
  return kSampling / 2 + random % kSampling;
}

std::uint64_t UsageMeter::firstGuess(const CallWork& work) const {
  if (work.kind == WorkKind::kMemop) return card(kMemop);
  if (work.bytes == 0) return card(kUnknown);
  return card(kCopyLatency + work.bytes * 1000 / kCopyBytesPerMicrosecond);
}

__attribute__((noinline)) StreamSlot& UsageMeter::otherSlot(ThreadStreams& thread,
                                                            const CallWork& work,
                                                            std::uint64_t name,
                                                            std::uint64_t stamp) {
  for (StreamSlot& slot : thread.slots) {
    if (slot.name != name || slot.stamp != stamp) continue;
    thread.last = &slot;
    return slot;
  }
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  StreamSlot* const end = thread.slots + ThreadStreams::kSlots;
  const bool again = thread.last != nullptr && thread.last->stamp == 0;
  const bool starts = thread.last == nullptr || thread.last + 1 == end;
  StreamSlot& slot = again ? *thread.last : starts ? thread.slots[0] : thread.last[1];
  thread.last = &slot;
  if (slot.launches != 0) flush(slot, sys::now());
  slot.name = name;
  slot.stamp = stamp;
  openSlot(slot, work);
  return slot;
}

void UsageMeter::readScale() {
  Tenant& tenant = runtime().tenant;
  const std::uint32_t permille =
      tenant.ready() ? tenant.control().header.grant.card_permille : 1000;
  permille_.store(permille == 0 ? 1000 : permille, std::memory_order_relaxed);
  flush_at_.store(card(kFlushAt), std::memory_order_relaxed);
}

void UsageMeter::openSlot(StreamSlot& slot, const CallWork& work) {
  const RelaxedCapture relaxed;
  readScale();
  const StreamTracker::Opened opened = book_.open(work);
  slot.record = opened.record;
  slot.device = opened.device;
  used_devices_.fetch_or(1u << slot.device, std::memory_order_relaxed);
  if (slot.record == nullptr) {
    // The next launch tries again: the thread that holds the tracker may be descheduled.
    if (opened.busy) slot.stamp = 0;
    return;
  }
  slot.generation = slot.record->generation.load(std::memory_order_relaxed);
  watchOlder(*slot.record->context);
}

bool UsageMeter::watchOlder() {
  bool all = true;
  const RelaxedCapture relaxed;
  readScale();
  book_.forEachContext([&](ContextRecord& context) { all = watchOlder(context) && all; });
  return all;
}

bool UsageMeter::watchOlder(ContextRecord& context) {
  const std::uint32_t round = round_.load(std::memory_order_relaxed);
  if (context.older_round.load(std::memory_order_relaxed) == round) return true;
  if (context.settling.exchange(true, std::memory_order_acquire)) return false;
  const bool done = context.dying.load(std::memory_order_relaxed) ||
                    !runtime().driver.has(Cu::cuCtxRecordEvent) || recordOlder(context);
  if (done) context.older_round.store(round, std::memory_order_relaxed);
  context.settling.store(false, std::memory_order_release);
  return done;
}

// Records one event after everything that the context got while it was unmetered. Requires
// `settling`.
bool UsageMeter::recordOlder(ContextRecord& context) {
  if (context.older.load(std::memory_order_relaxed) != nullptr) return false;
  const CUcontext owner = context.context.load(std::memory_order_relaxed);
  const CurrentContext current(owner);  // our own thread has none
  CUevent event = context.events.take(owner);
  if (event == nullptr) return true;
  late_marks_.fetch_add(1, std::memory_order_seq_cst);
  const bool capturing = runtime().captures.open();
  const bool recorded = !capturing && real<Cu::cuCtxRecordEvent>()(owner, event) == CUDA_SUCCESS;
  late_marks_.fetch_sub(1, std::memory_order_release);
  if (recorded) {
    used_devices_.fetch_or(1u << context.device, std::memory_order_relaxed);
    context.older_at = sys::now();
    context.older_sum = card(kOlderWork);
    launchInto(devices_[context.device], context.older_sum, context.older_at);
    context.older.store(event, std::memory_order_release);
  } else {
    context.events.give(event);
  }
  return !capturing;
}

// Called before a launch that is the slot's first since the last flush, or is to be measured by
// itself. Provides the mark before it. Returns true if the stream was idle.
__attribute__((noinline)) bool UsageMeter::prepare(StreamSlot& slot, bool sample) {
  StreamRecord* record = slot.record;
  if (record == nullptr) return false;
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  if (sample && slot.launches != 0) flush(slot, sys::now());
  if (record->launches.load(std::memory_order_relaxed) != 0) {
    if (sample) recordMark(*record, {});
    return false;
  }
  return recordMark(*record, {.fresh = true});
}

__attribute__((noinline)) void UsageMeter::commit(StreamSlot& slot, bool sample,
                                                  MeteredCall& ticket) {
  const std::uint64_t now = sys::now();
  StreamRecord* record = slot.record;
  flush(slot, now);
  ticket.flushed = true;
  if (record == nullptr) return;
  const std::uint32_t launches = record->launches.load(std::memory_order_relaxed);
  ticket.marks = sample || launches >= kMaxLaunches ||
                 record->sum.load(std::memory_order_relaxed) >= card(kMarkAt);
  if (ticket.marks && launches == 1) ticket.called = now;
}

// Returns the estimated end of all work on the device.
std::uint64_t UsageMeter::launchInto(Device& device, std::uint64_t estimate, std::uint64_t now) {
  device.unsettled.fetch_add(estimate, std::memory_order_relaxed);
  std::uint64_t until = device.until.load(std::memory_order_relaxed);
  std::uint64_t next;
  do {
    next = (until > now ? until : now) + estimate;
  } while (!device.until.compare_exchange_weak(until, next, std::memory_order_relaxed));
  return next;
}

void UsageMeter::flush(StreamSlot& slot, std::uint64_t now) {
  StreamRecord* record = slot.record;
  if (record == nullptr || record->gone.load(std::memory_order_relaxed) ||
      record->generation.load(std::memory_order_relaxed) != slot.generation) {
    if (record != nullptr) slot.stamp = 0;
    flushLoose(slot, now);
    return;
  }
  Device& device = devices_[slot.device];
  const std::uint32_t before = record->launches.load(std::memory_order_relaxed);
  if (before == 0) {
    record->alike.store(slot.alike, std::memory_order_relaxed);
  } else if (record->alike.load(std::memory_order_relaxed) != slot.alike) {
    record->alike.store(nullptr, std::memory_order_relaxed);
  }
  record->sum.fetch_add(slot.sum, std::memory_order_relaxed);
  record->due.store(launchInto(device, slot.sum, now), std::memory_order_relaxed);
  record->launches.fetch_add(slot.launches, std::memory_order_release);
  slot.sum = 0;
  slot.launches = 0;
}

void UsageMeter::flushLoose(StreamSlot& slot, std::uint64_t now) {
  Device& device = devices_[slot.device];
  device.loose_sum.fetch_add(slot.sum, std::memory_order_relaxed);
  device.loose_launches.fetch_add(slot.launches, std::memory_order_relaxed);
  launchInto(device, slot.sum, now);
  slot.sum = 0;
  slot.launches = 0;
}

__attribute__((noinline)) void UsageMeter::endSlowly(MeteredCall& ticket, CUresult result) {
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  if (result != CUDA_SUCCESS) takeBack(ticket);
  StreamRecord* record = ticket.slot->record;
  if (!ticket.marks || record == nullptr) return;
  MarkerContext behind;
  if (ticket.called != 0) {
    const std::uint64_t call = sys::now() - ticket.called + 1;
    std::uint64_t usual = usual_call_.load(std::memory_order_relaxed);
    behind.single_kernel = ticket.kernel;
    behind.call = call;
    if (ticket.waits) {
      behind.call = usual;
      behind.made = ticket.called;
    } else if (ticket.kernel) {
      usual = call < 2 * usual ? (usual * 15 + call) / 16 : usual + usual / 64;
      usual_call_.store(usual, std::memory_order_relaxed);
    }
  }
  if (recordMark(*record, behind) && behind.call != 0 && ticket.known != nullptr) {
    ticket.known->noteAsked();
  }
}

void UsageMeter::takeBack(MeteredCall& ticket) {
  StreamSlot& slot = *ticket.slot;
  StreamRecord* record = slot.record;
  if (!ticket.flushed) {
    slot.sum -= ticket.estimate;
    --slot.launches;
    return;
  }
  Device& device = devices_[slot.device];
  std::uint64_t taken = 0;
  if (record == nullptr) {
    takeFrom(device.loose_launches, 1u);
    taken = takeFrom(device.loose_sum, ticket.estimate);
  } else {
    takeFrom(record->launches, 1u);
    taken = takeFrom(record->sum, ticket.estimate);
  }
  device.unsettled.fetch_sub(taken, std::memory_order_relaxed);
  device.until.fetch_sub(taken, std::memory_order_relaxed);
}

bool UsageMeter::recordMark(StreamRecord& record, const MarkerContext& behind) {
  if (record.marking.exchange(true, std::memory_order_seq_cst)) return false;
  const std::uint32_t standing =
      record.tail.load(std::memory_order_relaxed) - record.head.load(std::memory_order_acquire);
  const bool alive = !record.gone.load(std::memory_order_seq_cst) &&
                     !record.context->dying.load(std::memory_order_relaxed);
  const bool done = alive && standing < StreamRecord::kMarks - 1 &&
                    (!behind.fresh || !markPending(record)) && putMark(record, behind);
  record.marking.store(false, std::memory_order_release);
  return done;
}

// Requires `marking`.
bool UsageMeter::putMark(StreamRecord& record, const MarkerContext& behind) {
  const RelaxedCapture relaxed;
  if (!behind.late && !mayRecordIn(record)) return false;
  ContextRecord& context = *record.context;
  const CUcontext owner = context.context.load(std::memory_order_relaxed);
  CUevent event = context.events.take(owner);
  if (event == nullptr) return false;
  const bool queued = !behind.fresh && !behind.late && markPending(record);
  const std::uint64_t now = sys::now();
  const CUresult recorded =
      behind.late ? recordLate(record, owner, event) : recordIn(record, event);
  if (recorded != CUDA_SUCCESS) {
    context.events.give(event);
    return false;
  }
  const std::uint32_t tail = record.tail.load(std::memory_order_relaxed);
  EventMarker& mark = record.marks[tail % StreamRecord::kMarks];
  mark.event = event;
  mark.recorded = now;
  mark.made = behind.made != 0 ? behind.made : now;
  mark.call = behind.call;
  if (behind.late) {
    mark.launches = takeFrom(record.launches, behind.launches);
    mark.sum = takeFrom(record.sum, behind.sum);
  } else {
    mark.launches = record.launches.exchange(0, std::memory_order_acquire);
    mark.sum = record.sum.exchange(0, std::memory_order_relaxed);
  }
  // The work before a mark may have counted as ended, but it is in flight.
  if (mark.sum == 0 && !behind.fresh) {
    mark.sum = 1;
    devices_[record.device].unsettled.fetch_add(1, std::memory_order_relaxed);
  }
  mark.due = behind.fresh ? now : record.due.load(std::memory_order_relaxed);
  mark.alike = record.alike.load(std::memory_order_relaxed);
  mark.single_kernel = behind.single_kernel;
  // The end of a whole context may be much later than that of the one stream.
  mark.fresh = behind.fresh || (behind.late && record.perThread());
  mark.queued = queued || behind.made != 0;
  record.tail.store(tail + 1, std::memory_order_release);
  return true;
}

// For the settling thread: no mark follows these launches, and no thread is about to launch.
bool UsageMeter::markLate(StreamRecord& record, std::uint32_t launches) {
  late_marks_.fetch_add(1, std::memory_order_seq_cst);
  bool done = false;
  if (!runtime().captures.open()) {
    MarkerContext behind;
    behind.late = true;
    behind.launches = launches;
    behind.sum = record.sum.load(std::memory_order_relaxed);
    done = recordMark(record, behind);
  }
  late_marks_.fetch_sub(1, std::memory_order_release);
  return done;
}

void UsageMeter::makeWayForCapture() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 0; i < 2'000 && late_marks_.load(std::memory_order_acquire) != 0; ++i) {
    sys::nap(50'000);
  }
}

void UsageMeter::mark() {
  for (StreamSlot& slot : divvy_meter.slots) {
    StreamRecord* record = slot.record;
    if (record == nullptr) continue;
    const ErrnoKeeper keeper;
    const DriverCallScope inside;
    if (slot.launches != 0) flush(slot, sys::now());
    if (record->generation.load(std::memory_order_relaxed) != slot.generation) continue;
    if (record->launches.load(std::memory_order_relaxed) == 0) continue;
    // A default stream belongs to the current context.
    const CurrentContext current(record->context->context.load(std::memory_order_relaxed));
    recordMark(*record, {});
  }
}

void UsageMeter::resume() {
  round_.fetch_add(1, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t UsageMeter::mostUnsettled() const {
  std::uint64_t most = 0;
  for (std::uint32_t bits = used_devices_.load(std::memory_order_relaxed); bits != 0;
       bits &= bits - 1) {
    const Device& device = devices_[__builtin_ctz(bits)];
    const std::uint64_t here = device.unsettled.load(std::memory_order_relaxed);
    if (here > most) most = here;
  }
  return most;
}

std::uint64_t UsageMeter::inflightUntil() const {
  std::uint64_t last = 0;
  for (std::uint32_t bits = used_devices_.load(std::memory_order_relaxed); bits != 0;
       bits &= bits - 1) {
    const std::uint64_t until = devices_[__builtin_ctz(bits)].until.load(std::memory_order_relaxed);
    if (until > last) last = until;
  }
  return last;
}

}  // namespace divvy::interposer
