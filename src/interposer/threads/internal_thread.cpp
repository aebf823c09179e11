#include "threads/internal_thread.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "runtime.h"
#include "support/syscalls.h"
#include "threads/thread_state.h"

extern "C" {
// Identifies an exit handler's library to the C library; see runtime.cpp.
extern __attribute__((visibility("hidden"))) void* __dso_handle;
int __cxa_atexit(void (*handler)(void*), void* argument, void* dso);
}

namespace divvy::interposer {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;  // the C library keeps thread-local storage in it

// Every signal is the application's, except the two that the C library sends to all threads.
constexpr std::uint64_t kNoSignals = ~(std::uint64_t{3} << 31);

std::uint64_t setSignalMask(std::uint64_t mask) {
  std::uint64_t before = 0;
  ::syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &mask, &before, sizeof mask);
  return before;
}

// Handlers run in the reverse order of their registration. So libraries that were loaded earlier,
// including the driver, are torn down after this.
void atExit(void*) {
  runtime().gate.endForExit();
}

// The registration is inherited by forked children.
constinit std::atomic<bool> exit_watched{false};

void watchExit() {
  if (!exit_watched.exchange(true, std::memory_order_acq_rel)) {
    ::__cxa_atexit(atExit, nullptr, &__dso_handle);
  }
}

// Registered before the other one, so it runs after that; also in a process without a thread of
// ours.
void endContextsAtExit(void*) {
  runtime().context_use.endForExit();
}

constinit std::atomic<bool> contexts_watched{false};

// Returns 0, or the reason why the thread was not created.
int spawn(void* (*body)(void*), void* argument, std::size_t stack) {
  pthread_attr_t attributes;
  if (const int failed = ::pthread_attr_init(&attributes)) return failed;
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack != 0) ::pthread_attr_setstacksize(&attributes, stack);
  pthread_t thread;
  const int failed = ::pthread_create(&thread, &attributes, body, argument);
  ::pthread_attr_destroy(&attributes);
  return failed;
}

}  // namespace

void watchContextsAtExit() {
  if (!contexts_watched.exchange(true, std::memory_order_acq_rel)) {
    ::__cxa_atexit(endContextsAtExit, nullptr, &__dso_handle);
  }
}

int startOwnThread(void* (*body)(void*), void* argument) {
  watchExit();
  // Blocked from its first instruction on.
  const std::uint64_t mask = setSignalMask(kNoSignals);
  // A program with much thread-local storage needs the default stack size.
  int failed = spawn(body, argument, kStackBytes);
  if (failed != 0) failed = spawn(body, argument, 0);
  setSignalMask(mask);
  return failed;
}

void beginOwnThread(const char* name) {
  divvy_thread.depth = 1;  // driver calls from this thread are not the application's
  ::syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
  ::syscall(SYS_prctl, PR_SET_TIMERSLACK, 1, 0, 0, 0);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  real<abi::Cu::cuThreadExchangeStreamCaptureMode>()(&mode);
}

}  // namespace divvy::interposer
