#include "meter/usage_meter.h"

#include "cuda/capture_scope.h"
#include "cuda/current_context.h"
#include "meter/settle_pass.h"
#include "runtime.h"
#include "support/syscalls.h"
#include "threads/thread_state.h"

namespace divvy::interposer {
namespace {

// Device time.
constexpr std::uint64_t kUnknown = 100'000;
constexpr std::uint64_t kMemop = 2'000;
constexpr std::uint64_t kCopyLatency = 2'000;
constexpr std::uint64_t kCopyBytesPerMicrosecond = 10'000;
constexpr std::uint64_t kMarkAt = 500'000;

constexpr int kPatientNaps = 2'000;
constexpr long kNap = 50'000;

constexpr std::uint32_t kSampling = 256;  // launches for one that is measured by itself, on average

}  // namespace

// Never a constant, because the application's own period could be a multiple of it.
std::uint32_t samplingGap(ThreadStreams& thread) {
  std::uint32_t random = thread.random == 0 ? 0x9E3779B9u : thread.random;
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  thread.random = random;
  return kSampling / 2 + random % kSampling;
}

std::uint64_t UsageMeter::firstGuess(const CallWork& work) const {
  if (work.kind == WorkKind::kMemop) return time_.onHost(kMemop);
  if (work.bytes == 0) return time_.onHost(kUnknown);
  return time_.onHost(kCopyLatency + work.bytes * 1000 / kCopyBytesPerMicrosecond);
}

bool UsageMeter::watchOlder() {
  bool all = true;
  const RelaxedCapture relaxed;
  time_.read();
  book_.forEachContext([&](ContextRecord& context) { all = marks_.watchOlder(context) && all; });
  return all;
}

// Called before a launch that is the slot's first since the last flush, or is to be measured by
// itself. Provides the mark before it. Returns true if the stream was idle.
__attribute__((noinline)) bool UsageMeter::prepare(StreamSlot& slot, bool sample) {
  StreamRecord* record = slot.record;
  if (record == nullptr) return false;
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  if (sample && slot.launches != 0) slots_.flush(slot, sys::now());
  if (record->launches.load(std::memory_order_relaxed) != 0) {
    if (sample) marks_.record(*record, {});
    return false;
  }
  return marks_.record(*record, {.fresh = true});
}

__attribute__((noinline)) void UsageMeter::commit(StreamSlot& slot, bool sample,
                                                  MeteredCall& ticket) {
  const std::uint64_t now = sys::now();
  StreamRecord* record = slot.record;
  slots_.flush(slot, now);
  ticket.flushed = true;
  if (record == nullptr) return;
  const std::uint32_t launches = record->launches.load(std::memory_order_relaxed);
  ticket.marks = sample || launches >= kMaxLaunches ||
                 record->sum.load(std::memory_order_relaxed) >= time_.onHost(kMarkAt);
  if (ticket.marks && launches == 1) ticket.called = now;
}

__attribute__((noinline)) void UsageMeter::endSlowly(MeteredCall& ticket, CUresult result) {
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  StreamSlot& slot = *ticket.slot;
  if (result != CUDA_SUCCESS && ticket.flushed) {
    slots_.takeBack(slot, ticket.estimate);
  } else if (result != CUDA_SUCCESS) {
    slot.sum -= ticket.estimate;
    --slot.launches;
  }
  StreamRecord* record = slot.record;
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
  if (marks_.record(*record, behind) && behind.call != 0 && ticket.known != nullptr) {
    ticket.known->noteAsked();
  }
}

void UsageMeter::makeWayForCapture() {
  marks_.makeWayForCapture();
}

void UsageMeter::mark() {
  for (StreamSlot& slot : divvy_meter.slots) {
    StreamRecord* record = slot.record;
    if (record == nullptr) continue;
    const ErrnoKeeper keeper;
    const DriverCallScope inside;
    if (slot.launches != 0) slots_.flush(slot, sys::now());
    if (record->generation.load(std::memory_order_relaxed) != slot.generation) continue;
    if (record->launches.load(std::memory_order_relaxed) == 0) continue;
    // A default stream belongs to the current context.
    const CurrentContext current(record->context->context.load(std::memory_order_relaxed));
    marks_.record(*record, {});
  }
}

void UsageMeter::resume() {
  marks_.beginRound();
  slots_.invalidate(std::memory_order_relaxed);
}

// ---- settling ----------------------------------------------------------------------------------

Settled UsageMeter::settle(std::uint64_t now) {
  Settled out;
  const ErrnoKeeper keeper;
  const DriverCallScope inside;
  const SettlePass::Parts parts{
      .usage = usage_, .time = time_, .tracker = book_, .marks = marks_, .usual_call = usual_call_};
  usage_.beginSettle();
  book_.forEachContext(
      [&](ContextRecord& context) { SettlePass(parts, context, now, &out).run(); });
  usage_.endSettle(now, &out);
  return out;
}

void UsageMeter::forgetStream(CUstream stream) {
  if (usage_.usedDevices() == 0) return;
  const ErrnoKeeper keeper;
  StreamRecord* record = book_.find(stream);
  if (record == nullptr) return;
  mark();
  if (record->launches.load(std::memory_order_relaxed) != 0) marks_.record(*record, {});
  book_.close(*record);
  slots_.invalidate(std::memory_order_release);
  EventRecorder::awaitUnmarked(*record);
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

// A thread that is looking at the context's events has 0.1 s to come back from the driver.
void UsageMeter::endContext(ContextRecord& context) {
  context.dying.store(true, std::memory_order_release);
  slots_.invalidate(std::memory_order_release);
  for (int i = 0; context.settling.exchange(true, std::memory_order_acquire); ++i) {
    if (i == kPatientNaps) return;  // then its record stays as it is, for good
    sys::nap(kNap);
  }
  const SettlePass::Parts parts{
      .usage = usage_, .time = time_, .tracker = book_, .marks = marks_, .usual_call = usual_call_};
  Settled ignored;
  SettlePass(parts, context, sys::now(), &ignored).end();
  context.dying.store(false, std::memory_order_release);
  context.settling.store(false, std::memory_order_release);
}

void UsageMeter::forgetAfterFork() {
  book_.forgetAfterFork();
  usage_.forgetAfterFork();
  divvy_meter = {};
  resume();
}

}  // namespace divvy::interposer
