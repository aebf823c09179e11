#include "files/sigbus_guard.h"

#include <ucontext.h>

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace divvy::ledger {
namespace {

struct Guard {
  sigjmp_buf jump;
  std::uintptr_t begin;
  std::uintptr_t end;
  Guard* outer;
};

thread_local Guard* innermost = nullptr;
struct sigaction previous_action;

void passOn(int signal, siginfo_t* info, void* machine) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, machine);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    // The faulting instruction runs again, and the default action ends the process with the right
    // signal.
    sigaction(signal, &previous_action, nullptr);
  }
}

void onSigbus(int signal, siginfo_t* info, void* machine) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Guard* guard = innermost; guard != nullptr; guard = guard->outer) {
    if (address < guard->begin || address >= guard->end) continue;
    // A caller may have blocked signals during the handler (ThreadSanitizer blocks all of them).
    // Then the next fault of this thread would end the process.
    pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(machine)->uc_sigmask, nullptr);
    siglongjmp(guard->jump, 1);
  }
  passOn(signal, info, machine);
}

void installOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = onSigbus;
    // The restored mask is that of the fault. Saving it at each entry would cost a system call.
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &previous_action);
  });
}

}  // namespace

bool runGuarded(const void* memory, std::size_t size, void (*body)(void*), void* context) {
  installOnce();
  Guard guard;
  guard.begin = reinterpret_cast<std::uintptr_t>(memory);
  guard.end = guard.begin + size;
  guard.outer = innermost;
  if (sigsetjmp(guard.jump, 0) != 0) {
    innermost = guard.outer;
    return false;
  }
  innermost = &guard;
  body(context);
  innermost = guard.outer;
  return true;
}

}  // namespace divvy::ledger
