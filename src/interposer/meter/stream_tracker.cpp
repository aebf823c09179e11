#include "meter/stream_tracker.h"

#include "cuda/current_context.h"
#include "cuda/thread_streams.h"
#include "runtime.h"
#include "support/syscalls.h"

extern "C" {
constinit thread_local divvy::interposer::ThreadStreams divvy_meter{};
}

namespace divvy::interposer {
namespace {

using abi::Cu;

// No thread holds the flag across a driver call.
constexpr unsigned kPatience = 20'000;
constexpr int kPatientNaps = 100;
constexpr long kNap = 50'000;

bool lockBriefly(std::atomic<bool>& flag) {
  for (unsigned i = 0; i < kPatience; ++i) {
    if (!flag.load(std::memory_order_relaxed) && !flag.exchange(true, std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

// The default stream of a thread that ended passes to the thread that gets its thread-local memory.
std::uint64_t keyFor(std::uint64_t name, CUcontext context) {
  constexpr std::uint64_t kOdd = 0xc4ceb9fe1a85ec53u;
  std::uint64_t key = name;
  if (name <= kPerThreadStream) key += reinterpret_cast<std::uint64_t>(context) * kOdd;
  if (name == kPerThreadStream) {
    key += work_detail::mix(reinterpret_cast<std::uint64_t>(&divvy_meter));
  }
  return work_detail::mix(key) >> 1;
}

// The context of a stream.
CUcontext contextOf(std::uint64_t name) {
  CUcontext context = nullptr;
  const CUresult result =
      name <= kPerThreadStream
          ? real<Cu::cuCtxGetCurrent>()(&context)
          : real<Cu::cuStreamGetCtx>()(reinterpret_cast<CUstream>(name), &context);
  return result == CUDA_SUCCESS ? context : nullptr;
}

unsigned deviceOf(CUcontext context) {
  const DeviceTable* table = runtime().tenant.ready() ? runtime().devices.get() : nullptr;
  if (table == nullptr) return kNoDevice;
  if (table->only != kNoDevice) return table->only;
  const CurrentContext current(context);
  CUdevice device = -1;
  if (!current.set() || real<Cu::cuCtxGetDevice>()(&device) != CUDA_SUCCESS) return kNoDevice;
  return table->ledgerIndex(device);
}

}  // namespace

ContextRecord* StreamTracker::findContext(CUcontext context) {
  const unsigned used = used_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < used; ++i) {
    if (contexts_[i].context.load(std::memory_order_acquire) == context) return &contexts_[i];
  }
  return nullptr;
}

// Requires opening_.
ContextRecord* StreamTracker::openContext(CUcontext context, unsigned device) {
  ContextRecord* found = findContext(context);
  for (unsigned i = 0; found == nullptr && i < kContexts; ++i) {
    if (contexts_[i].context.load(std::memory_order_relaxed) != nullptr) continue;
    found = &contexts_[i];
    found->device = static_cast<std::uint8_t>(device);
    found->context.store(context, std::memory_order_release);
    if (i >= used_.load(std::memory_order_relaxed)) used_.store(i + 1, std::memory_order_release);
  }
  return found;
}

void StreamTracker::note(CUcontext context, unsigned device) {
  for (int i = 0; findContext(context) == nullptr && i < kPatientNaps; ++i) {
    if (!lockBriefly(opening_)) {
      sys::nap(kNap);
      continue;
    }
    openContext(context, device);
    opening_.store(false, std::memory_order_release);
    return;
  }
}

StreamTracker::Opened StreamTracker::open(const CallWork& work) {
  const std::uint64_t name = streamName(work);
  const CUcontext context = contextOf(name);
  if (context == nullptr) return {nullptr, 0, false};
  ContextRecord* owner = findContext(context);
  const unsigned device = owner != nullptr ? owner->device.load() : deviceOf(context);
  if (device == kNoDevice) return {nullptr, 0, false};
  Opened opened{nullptr, static_cast<std::uint8_t>(device), true};
  const std::uint64_t key = keyFor(name, context);
  Block block;
  const auto known = [&] { return &records_.at(static_cast<std::uint32_t>(block.bytes)); };
  const auto ends = [&] { return owner->dying.load(std::memory_order_acquire); };
  if (owner != nullptr && !ends() && by_name_.find(key, &block)) {
    opened.record = known();
    return opened;
  }
  if (!lockBriefly(opening_)) return opened;
  if (owner == nullptr) owner = openContext(context, device);
  if (owner == nullptr || !ends()) {
    opened.busy = false;
    if (owner != nullptr) {
      opened.record = by_name_.find(key, &block) ? known() : insert(*owner, name, key);
    }
  }
  opening_.store(false, std::memory_order_release);
  return opened;
}

// Requires opening_.
StreamRecord* StreamTracker::insert(ContextRecord& context, std::uint64_t name, std::uint64_t key) {
  const std::uint32_t number = records_.take();
  if (number == Slab<StreamRecord>::kNone) return nullptr;
  StreamRecord& record = records_.at(number);
  record.name = name;
  record.key = key;
  record.context = &context;
  record.device = context.device;
  record.last_known = record.last_fresh = false;
  record.kept = nullptr;
  record.gone.store(false, std::memory_order_relaxed);
  record.generation.fetch_add(1, std::memory_order_relaxed);
  if (!by_name_.insert(key, {number, 0, BlockKind::kOther})) {
    records_.give(number);
    return nullptr;
  }
  StreamRecord* first = context.streams.load(std::memory_order_relaxed);
  do {
    record.next = first;
  } while (!context.streams.compare_exchange_weak(first, &record, std::memory_order_release));
  return &record;
}

StreamRecord* StreamTracker::find(CUstream stream) {
  const auto name = reinterpret_cast<std::uint64_t>(stream);
  Block block;
  if (name <= kPerThreadStream || !by_name_.find(keyFor(name, nullptr), &block)) return nullptr;
  return &records_.at(static_cast<std::uint32_t>(block.bytes));
}

void StreamTracker::close(StreamRecord& record) {
  Block block;
  by_name_.take(record.key, &block);
  record.gone.store(true, std::memory_order_release);
}

bool StreamTracker::release(ContextRecord& context, StreamRecord& record) {
  StreamRecord* first = &record;
  if (!context.streams.compare_exchange_strong(first, record.next, std::memory_order_acq_rel)) {
    StreamRecord* before = first;
    while (before != nullptr && before->next != &record) before = before->next;
    if (before == nullptr) return false;
    before->next = record.next;
  }
  record.generation.fetch_add(1, std::memory_order_relaxed);
  record.taken.store(0, std::memory_order_release);
  return true;
}

void StreamTracker::drop(ContextRecord& context) {
  StreamRecord* record = context.streams.exchange(nullptr, std::memory_order_acq_rel);
  while (record != nullptr) {
    StreamRecord* next = record->next;
    if (!record->gone.load(std::memory_order_relaxed)) close(*record);
    record->head.store(record->tail.load(std::memory_order_relaxed), std::memory_order_relaxed);
    record->generation.fetch_add(1, std::memory_order_relaxed);
    record->taken.store(0, std::memory_order_release);
    record = next;
  }
  context.base = nullptr;
  context.base_keeper = nullptr;
  context.lead = INT64_MAX;
  context.older.store(nullptr, std::memory_order_relaxed);
  context.older_round.store(0, std::memory_order_relaxed);
  context.context.store(nullptr, std::memory_order_release);
}

void StreamTracker::forgetAfterFork() {
  by_name_.forgetAfterFork();
  records_.forgetAfterFork();
  for (ContextRecord& context : contexts_) {
    context.context.store(nullptr, std::memory_order_relaxed);
    context.settling.store(false, std::memory_order_relaxed);
    context.dying.store(false, std::memory_order_relaxed);
    context.streams.store(nullptr, std::memory_order_relaxed);
    context.events.clear();
    context.base = nullptr;
    context.base_keeper = nullptr;
    context.lead = INT64_MAX;
    context.older.store(nullptr, std::memory_order_relaxed);
    context.older_round.store(0, std::memory_order_relaxed);
  }
  used_.store(0, std::memory_order_relaxed);
  opening_.store(false, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
