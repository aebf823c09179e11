#include "meter/event_pool.h"

#include "cuda/current_context.h"

namespace divvy::interposer {

using abi::Cu;

CUevent EventPool::take(CUcontext owner) {
  const unsigned hint = hint_.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < kKept; ++i) {
    std::atomic<CUevent>& place = events_[(hint - i) % kKept];
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    if (CUevent event = place.exchange(nullptr, std::memory_order_acq_rel)) {
      hint_.store((hint - i - 1) % kKept, std::memory_order_relaxed);
      return event;
    }
  }
  const CurrentContext current(owner);
  CUevent event = nullptr;
  if (!current.set() || real<Cu::cuEventCreate>()(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
    return nullptr;
  }
  return event;
}

void EventPool::give(CUevent event) {
  const unsigned hint = hint_.load(std::memory_order_relaxed);
  for (unsigned i = 1; i <= kKept; ++i) {
    CUevent none = nullptr;
    std::atomic<CUevent>& place = events_[(hint + i) % kKept];
    if (place.load(std::memory_order_relaxed) == nullptr &&
        place.compare_exchange_strong(none, event, std::memory_order_acq_rel)) {
      hint_.store((hint + i) % kKept, std::memory_order_relaxed);
      return;
    }
  }
  real<Cu::cuEventDestroy_v2>()(event);
}

void EventPool::drain() {
  for (auto& place : events_) {
    CUevent event = place.exchange(nullptr, std::memory_order_acq_rel);
    if (event != nullptr) real<Cu::cuEventDestroy_v2>()(event);
  }
}

void EventPool::clear() {
  for (auto& place : events_) place.store(nullptr, std::memory_order_relaxed);
}

}  // namespace divvy::interposer
