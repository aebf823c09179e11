#include "cuda/context/call_guard.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "abi/cuda_types.h"

namespace divvy::simgpu {
namespace {

std::atomic<CheckpointRecord*> counting{nullptr};
thread_local int depth = 0;

// Between processes, because the record is in a file that they share.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, nullptr, nullptr,
          0);
}

}  // namespace

void CallMark::countIn(CheckpointRecord& record) {
  counting.store(&record, std::memory_order_release);
}

CallMark::CallMark() : record_(counting.load(std::memory_order_acquire)) {
  if (record_ == nullptr || depth++ != 0) return;
  for (;;) {
    // Either this call sees the lock, or the locking process sees this call.
    record_->calls.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t state = record_->state.load(std::memory_order_seq_cst);
    if (state == CU_PROCESS_STATE_RUNNING) return;
    record_->calls.fetch_sub(1, std::memory_order_release);
    futex(record_->state, FUTEX_WAIT, state);
  }
}

CallMark::~CallMark() {
  if (record_ == nullptr || --depth != 0) return;
  record_->calls.fetch_sub(1, std::memory_order_release);
}

void resumeCalls(CheckpointRecord& record) {
  futex(record.state, FUTEX_WAKE, INT_MAX);
}

}  // namespace divvy::simgpu
