#include "cuda/context/context.h"

#include <pthread.h>

#include <algorithm>
#include <shared_mutex>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "cuda/context/exec.h"
#include "cuda/memory/memory_table.h"

namespace divvy::simgpu {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_set<const Context*> known;
};

Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

// The stack of one thread. Programs call the driver from thread-local destructors, exit handlers
// and key destructors. So the stack is never destroyed, except for the heap part of a deep one.
struct ContextStack {
  static constexpr std::size_t kNear = 16;
  CUcontext near[kNear];         // the lowest ones
  std::vector<CUcontext>* more;  // the others; null: never used
  std::size_t count;

  CUcontext& at(std::size_t index) { return index < kNear ? near[index] : (*more)[index - kNear]; }
};
static_assert(std::is_trivially_destructible_v<ContextStack>);

constinit thread_local ContextStack stack{};

// Runs when the thread ends; key destructors that run after it find an empty stack.
void freeDeepStack(void*) {
  delete stack.more;
  stack = {};
}

// False: no key is left, and a thread's deep stack leaks when the thread ends.
bool deepStackKey(pthread_key_t* out) {
  struct StackKey {
    pthread_key_t key{};
    bool made = pthread_key_create(&key, freeDeepStack) == 0;
  };
  static const StackKey key;
  *out = key.key;
  return key.made;
}

void makeDeep() {
  stack.more = new std::vector<CUcontext>;
  pthread_key_t key{};
  if (deepStackKey(&key)) pthread_setspecific(key, stack.more);
}

std::uint64_t nextContextId() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Charges the overhead and starts. A context that does not fit stays dead.
CUresult startContext(Context& context) {
  Device& device = context.device();
  if (!context.free_of_charge) {
    const std::uint64_t overhead = device.profile->context_bytes;
    if (!device.card.charge(Charge::kContext, overhead)) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (const CUresult placed = exec::contextMade(context); placed != CUDA_SUCCESS) {
    if (!context.free_of_charge) {
      device.card.refund(Charge::kContext, device.profile->context_bytes);
    }
    return placed;
  }
  device.card.countContext(1);
  context.setAlive(true);
  return CUDA_SUCCESS;
}

}  // namespace

Context::Context(Device& device, unsigned new_flags, bool primary)
    : device_(device), primary_(primary), id_(nextContextId()) {
  reset(new_flags);
  const std::unique_lock guard(registry().mutex);
  registry().known.insert(this);
}

void Context::reset(unsigned new_flags) {
  flags = new_flags;
  api_version = 3020;
  sm_count = device_.profile->sm_count;
  attached = 1;
  for (auto& limit : limits) limit = 0;
  limits[CU_LIMIT_STACK_SIZE] = 1024;
  limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
  limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
  limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
  limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
  limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
  limit_bytes = 0;
  sticky_ = CUDA_SUCCESS;
  cache_config = CU_FUNC_CACHE_PREFER_NONE;
  const std::lock_guard guard(mutex);
  peers.clear();
}

void Context::poison(CUresult error) {
  CUresult healthy = CUDA_SUCCESS;
  sticky_.compare_exchange_strong(healthy, error);
}

bool Context::canAccess(const Device& peer) {
  if (&peer == &device_) return true;
  const std::lock_guard guard(mutex);
  return peers.contains(&peer);
}

Context* findContext(CUcontext handle) {
  auto* context = reinterpret_cast<Context*>(handle);
  const std::shared_lock guard(registry().mutex);
  return registry().known.contains(context) && context->alive() ? context : nullptr;
}

// Only findContext puts handles onto a stack, so the top is an object even if it is dead.
Context* currentContext() {
  auto* context = reinterpret_cast<Context*>(currentHandle());
  return context != nullptr && context->alive() ? context : nullptr;
}

CUcontext currentHandle() {
  return stack.count == 0 ? nullptr : stack.at(stack.count - 1);
}

void pushContext(CUcontext handle) {
  if (stack.count >= ContextStack::kNear) {
    if (stack.more == nullptr) makeDeep();
    stack.more->push_back(handle);
  } else {
    stack.near[stack.count] = handle;
  }
  ++stack.count;
}

CUcontext popContext() {
  const CUcontext top = currentHandle();
  if (stack.count == 0) return top;
  if (stack.count > ContextStack::kNear) stack.more->pop_back();
  --stack.count;
  return top;
}

void setTopContext(CUcontext handle) {
  popContext();
  if (handle != nullptr) pushContext(handle);
}

CUresult makeContext(Device& device, unsigned flags, CUgreenCtx green, int sm_count,
                     Context** out) {
  auto* context = new Context(device, flags, false);
  context->green = green;
  context->sm_count = sm_count;
  context->free_of_charge = green != nullptr;
  *out = context;
  return startContext(*context);
}

void endContext(Context* context) {
  Device& device = context->device();
  exec::contextEnding(*context);
  context->setAlive(false);
  freeOwnedBy(*context);
  if (const std::uint64_t bytes = context->limit_bytes.exchange(0); bytes != 0) {
    device.card.refund(Charge::kModule, bytes);
  }
  if (!context->free_of_charge) {
    device.card.refund(Charge::kContext, device.profile->context_bytes);
  }
  device.card.countContext(-1);
}

CUresult retainPrimary(Device& device, Context** out) {
  const std::lock_guard guard(device.mutex);
  if (device.primary == nullptr) device.primary = new Context(device, device.primary_flags, true);
  if (!device.primary->alive()) {
    device.primary->reset(device.primary_flags);
    if (const CUresult result = startContext(*device.primary); result != CUDA_SUCCESS) {
      return result;
    }
  }
  ++device.primary_references;
  *out = device.primary;
  return CUDA_SUCCESS;
}

CUresult releasePrimary(Device& device) {
  const std::lock_guard guard(device.mutex);
  if (device.primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device.primary_references == 0 && device.primary->alive()) endContext(device.primary);
  return CUDA_SUCCESS;
}

CUresult resetPrimary(Device& device) {
  const std::lock_guard guard(device.mutex);
  if (device.primary != nullptr && device.primary->alive()) endContext(device.primary);
  return CUDA_SUCCESS;
}

}  // namespace divvy::simgpu
