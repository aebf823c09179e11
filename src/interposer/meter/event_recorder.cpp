#include "meter/event_recorder.h"

#include "cuda/capture_scope.h"
#include "cuda/current_context.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr std::uint64_t kOlderWork = 1'000;  // stands for unmetered work; device time
constexpr int kPatientNaps = 2'000;
constexpr long kNap = 50'000;

bool mayRecordIn(const StreamRecord& record) {
  if (!runtime().captures.open()) return true;
  if (record.legacy()) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = record.perThread()
                              ? real<Cu::cuStreamIsCapturing_ptsz>()(nullptr, &status)
                              : real<Cu::cuStreamIsCapturing>()(record.handle(), &status);
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE;
}

// No other thread can name a thread's default stream: behind it there is only all of the context.
CUresult recordBehind(const StreamRecord& record, CUcontext context, CUevent event) {
  if (!record.perThread()) return real<Cu::cuEventRecord>()(event, record.handle());
  if (!runtime().driver.has(Cu::cuCtxRecordEvent)) return CUDA_ERROR_NOT_SUPPORTED;
  return real<Cu::cuCtxRecordEvent>()(context, event);
}

CUresult recordIn(const StreamRecord& record, CUevent event) {
  return record.perThread() ? real<Cu::cuEventRecord_ptsz>()(event, nullptr)
                            : real<Cu::cuEventRecord>()(event, record.handle());
}

// With `marking`: the newest mark is still to come.
bool markPending(const StreamRecord& record) {
  if (record.empty()) return false;
  const std::uint32_t newest = record.tail.load(std::memory_order_relaxed) - 1;
  const RelaxedCapture relaxed;
  return real<Cu::cuEventQuery>()(record.marks[newest % StreamRecord::kMarks].event) ==
         CUDA_ERROR_NOT_READY;
}

}  // namespace

bool EventRecorder::record(StreamRecord& record, const MarkerContext& behind) {
  if (record.marking.exchange(true, std::memory_order_seq_cst)) return false;
  const std::uint32_t standing =
      record.tail.load(std::memory_order_relaxed) - record.head.load(std::memory_order_acquire);
  const bool alive = !record.gone.load(std::memory_order_seq_cst) &&
                     !record.context->dying.load(std::memory_order_relaxed);
  const bool done = alive && standing < StreamRecord::kMarks - 1 &&
                    (!behind.fresh || !markPending(record)) && put(record, behind);
  record.marking.store(false, std::memory_order_release);
  return done;
}

// With `marking`.
bool EventRecorder::put(StreamRecord& record, const MarkerContext& behind) {
  const RelaxedCapture relaxed;
  if (!behind.late && !mayRecordIn(record)) return false;
  ContextRecord& context = *record.context;
  const CUcontext owner = context.context.load(std::memory_order_relaxed);
  CUevent event = context.events.take(owner);
  if (event == nullptr) return false;
  const bool queued = !behind.fresh && !behind.late && markPending(record);
  const std::uint64_t now = sys::now();
  const CUresult recorded =
      behind.late ? recordBehind(record, owner, event) : recordIn(record, event);
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
  // Work before a mark may have been counted as ended: it is in flight for all that.
  if (mark.sum == 0 && !behind.fresh) {
    mark.sum = 1;
    usage_.device(record.device).addUnsettled(1);
  }
  mark.due = behind.fresh ? now : record.due.load(std::memory_order_relaxed);
  mark.alike = record.alike.load(std::memory_order_relaxed);
  mark.single_kernel = behind.single_kernel;
  // All of a context may come much later than the one stream that is meant.
  mark.fresh = behind.fresh || (behind.late && record.perThread());
  mark.queued = queued || behind.made != 0;
  record.tail.store(tail + 1, std::memory_order_release);
  return true;
}

bool EventRecorder::recordLate(StreamRecord& record, std::uint32_t launches) {
  late_marks_.fetch_add(1, std::memory_order_seq_cst);
  bool done = false;
  if (!runtime().captures.open()) {
    MarkerContext behind;
    behind.late = true;
    behind.launches = launches;
    behind.sum = record.sum.load(std::memory_order_relaxed);
    done = this->record(record, behind);
  }
  late_marks_.fetch_sub(1, std::memory_order_release);
  return done;
}

bool EventRecorder::watchOlder(ContextRecord& context) {
  const std::uint32_t round = round_.load(std::memory_order_relaxed);
  if (context.older_round.load(std::memory_order_relaxed) == round) return true;
  if (context.settling.exchange(true, std::memory_order_acquire)) return false;
  const bool done = context.dying.load(std::memory_order_relaxed) ||
                    !runtime().driver.has(Cu::cuCtxRecordEvent) || recordOlder(context);
  if (done) context.older_round.store(round, std::memory_order_relaxed);
  context.settling.store(false, std::memory_order_release);
  return done;
}

// One event behind everything that the context was given unmetered. With `settling`.
bool EventRecorder::recordOlder(ContextRecord& context) {
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
    usage_.use(context.device);
    context.older_at = sys::now();
    context.older_sum = time_.onHost(kOlderWork);
    usage_.device(context.device).launch(context.older_sum, context.older_at);
    context.older.store(event, std::memory_order_release);
  } else {
    context.events.give(event);
  }
  return !capturing;
}

void EventRecorder::awaitUnmarked(const StreamRecord& record) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 0; record.marking.load(std::memory_order_acquire) && i < kPatientNaps; ++i) {
    sys::nap(kNap);
  }
}

void EventRecorder::makeWayForCapture() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 0; i < kPatientNaps && late_marks_.load(std::memory_order_acquire) != 0; ++i) {
    sys::nap(kNap);
  }
}

}  // namespace divvy::interposer
