#include "cuda/context_guard.h"

#include "ledger/layout.h"
#include "runtime.h"
#include "support/syscalls.h"

namespace divvy::interposer {
namespace {

using abi::Cu;

constexpr std::uint64_t kPatience = 2'000'000'000;
constexpr long kNap = 50'000;

// The contexts that one thread walks.
struct Contexts {
  static constexpr unsigned kMax = 256;
  CUcontext of[kMax];
  unsigned count = 0;
  bool all = true;

  void add(CUcontext context) {
    if (count == kMax) {
      all = false;
    } else {
      of[count++] = context;
    }
  }
};

std::uint32_t ownNumber() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

void addMade(void* list, std::uint64_t key, Block) {
  static_cast<Contexts*>(list)->add(reinterpret_cast<CUcontext>(key));
}

void listAll(Contexts& list) {
  for (unsigned dev = 0; dev < ledger::kMaxDevices; ++dev) {
    const PrimaryContexts& primaries = runtime().primaries;
    if (primaries.charged(dev) && primaries.handle(dev) != nullptr) list.add(primaries.handle(dev));
  }
  runtime().contexts.forEach(addMade, &list);
}

}  // namespace

ContextGuard::User* ContextGuard::own(std::uint32_t self) {
  for (User& user : users_) {
    if (user.thread.load(std::memory_order_relaxed) == self) return &user;
  }
  return nullptr;
}

ContextGuard::User* ContextGuard::take(std::uint32_t self) {
  for (User& user : users_) {
    std::uint32_t nobody = 0;
    if (user.thread.compare_exchange_strong(nobody, self, std::memory_order_seq_cst)) return &user;
  }
  return nullptr;
}

bool ContextGuard::used() const {
  for (const User& user : users_) {
    if (user.thread.load(std::memory_order_seq_cst) != 0) return true;
  }
  return false;
}

bool ContextGuard::begin() {
  const std::uint32_t self = ownNumber();
  if (User* user = own(self)) {
    ++user->nested;
    return true;
  }
  while (take(self) == nullptr) sys::nap(kNap);
  // A thread that ends a context announces it first and checks for users then.
  if (!wanted()) return true;
  end();
  return false;
}

void ContextGuard::end() {
  User* user = own(ownNumber());
  if (user == nullptr) return;
  if (user->nested != 0) {
    --user->nested;
  } else {
    user->thread.store(0, std::memory_order_seq_cst);
  }
}

CUcontext ContextGuard::on(unsigned device) {
  const PrimaryContexts& primaries = runtime().primaries;
  if (primaries.charged(device) && primaries.handle(device) != nullptr) {
    return primaries.handle(device);
  }
  struct Search {
    unsigned device;
    CUcontext found;
  } search{device, nullptr};
  runtime().contexts.forEach(
      [](void* argument, std::uint64_t key, Block block) {
        auto* wanted = static_cast<Search*>(argument);
        if (block.device == wanted->device) wanted->found = reinterpret_cast<CUcontext>(key);
      },
      &search);
  return search.found;
}

CUresult ContextGuard::synchronizeAll() {
  if (!begin()) return CUDA_ERROR_NOT_READY;
  Contexts list;
  listAll(list);
  CUresult result = list.all ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  for (unsigned i = 0; i < list.count && result == CUDA_SUCCESS; ++i) {
    result = real<Cu::cuCtxSetCurrent>()(list.of[i]);
    if (result == CUDA_SUCCESS) result = real<Cu::cuCtxSynchronize>()();
  }
  real<Cu::cuCtxSetCurrent>()(nullptr);
  end();
  return result;
}

void ContextGuard::beginEnding() {
  endings_.fetch_add(1, std::memory_order_seq_cst);
  if (!used() || runtime().pagers.stopping()) return;
  const ErrnoKeeper keeper;
  const std::uint64_t until = sys::now() + kPatience;
  while (used() && sys::now() < until) sys::nap(kNap);
}

void ContextGuard::endForExit() {
  exiting_.store(true, std::memory_order_release);
  endings_.fetch_add(1, std::memory_order_seq_cst);
}

void ContextGuard::forgetAfterFork() {
  for (User& user : users_) {
    user.thread.store(0, std::memory_order_relaxed);
    user.nested = 0;
  }
  endings_.store(0, std::memory_order_relaxed);
  exiting_.store(false, std::memory_order_relaxed);
}

ContextDestroyScope::ContextDestroyScope() {
  runtime().context_use.beginEnding();
}

ContextDestroyScope::~ContextDestroyScope() {
  runtime().context_use.endEnding();
}

}  // namespace divvy::interposer
