// Events in other processes (CUDA Driver API, "Memory Management": cuIpcGetEventHandle,
// cuIpcOpenEventHandle). Only interprocess events without timing have a handle. An opened event
// does all that its original does, and ends with cuEventDestroy. No process may use an event that
// its exporter destroyed: here it counts as never recorded.
//
// The 64 bytes of a handle name the card and the mark in its engine file. A record is over when its
// process has run all earlier work. So a stopped process delays the waiters of its events; a dead
// one does not.
// events; a dead one does not.
#include <cstring>

#include "cuda/context/api_prologue.h"
#include "cuda/context/runtime.h"
#include "cuda/stream/event.h"
#include "cuda/vmm/vmm_share.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint64_t kEventMagic = 0x3130545645475344;  // "DSGEVT01"

// Layout of a handle's bytes.
struct EventHandle {
  std::uint64_t magic;
  std::uint64_t file;  // EngineFile::madeNs of the card
  std::uint64_t id;
  std::uint32_t slot;
  std::uint32_t card;
  std::uint64_t unused[4];
};
static_assert(sizeof(EventHandle) == sizeof(CUipcEventHandle));

CUresult exportEvent(const Event& event, CUipcEventHandle* out) {
  if (!event.isShared()) return CUDA_ERROR_INVALID_HANDLE;
  ExecDevice& device = event.exec.device;
  EventHandle handle{};
  handle.magic = kEventMagic;
  handle.file = device.engine.madeNs();
  handle.id = event.shared.id;
  handle.slot = event.shared.slot;
  handle.card = static_cast<std::uint32_t>(device.device.card_index);
  std::memcpy(out, &handle, sizeof handle);
  return CUDA_SUCCESS;
}

// Opens it only on the card of the current context.
CUresult openEvent(Context& context, const CUipcEventHandle& bytes, CUevent* out) {
  EventHandle handle;
  std::memcpy(&handle, &bytes, sizeof handle);
  ExecContext& exec = execOf(context);
  if (handle.magic != kEventMagic) return CUDA_ERROR_INVALID_HANDLE;
  if (deviceOfCard(handle.card) != &context.device()) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  const SharedEventName name{.id = handle.id, .slot = handle.slot};
  {
    EngineLock lock(exec.device.engine);
    if (handle.file != exec.device.engine.madeNs() || lock.findEvent(name) == nullptr) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
  }
  constexpr unsigned flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  *out = addEvent(std::make_unique<Event>(exec, flags, name, false));
  return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_IMPL(cuIpcGetEventHandle)(CUipcEventHandle* out, CUevent handle) {
  return withContext(Cu::cuIpcGetEventHandle, [&](Context&) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Event* event = nullptr;
    const CUresult known = findEvent(handle, &event);
    return known != CUDA_SUCCESS ? known : exportEvent(*event, out);
  });
}
SIMGPU_IMPL(cuIpcOpenEventHandle)(CUevent* out, CUipcEventHandle handle) {
  return withContext(Cu::cuIpcOpenEventHandle, [&](Context& context) -> CUresult {
    return out == nullptr ? CUDA_ERROR_INVALID_VALUE : openEvent(context, handle, out);
  });
}

}  // namespace divvy::simgpu
