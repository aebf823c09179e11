#include "cuda/stream/stream.h"

#include <atomic>

#include "cuda/engine/engine_executor.h"

namespace divvy::simgpu {
namespace {

std::atomic<std::uint64_t> next_id{16};  // 1 and 2 would equal the default streams' handles

Stream* perThreadStream(ExecContext& exec) {
  const auto thread = std::this_thread::get_id();
  const std::lock_guard guard(exec.mutex);
  const auto known = exec.per_thread.find(thread);
  if (known != exec.per_thread.end()) return known->second.get();
  auto fresh = std::make_unique<Stream>(exec, StreamKind::kPerThread, 0, 0);
  EngineLock lock(exec.device.engine);
  return exec.per_thread.emplace(thread, std::move(fresh)).first->second.get();
}

}  // namespace

Stream::Stream(ExecContext& e, StreamKind k, unsigned f, int p)
    : exec(e), kind(k), flags(f), id(next_id.fetch_add(1)), priority(p) {}

// Work in the legacy stream follows everything in the context's blocking streams, and later work in
// those follows it.
void Stream::collect(Timeline&, std::vector<OpRef>* deps) {
  deps->push_back(tail);
  if (!blocking()) return;
  if (kind != StreamKind::kLegacy) {
    deps->push_back(exec.legacy->tail);
    return;
  }
  for (const Stream* stream : exec.created) {
    if (stream->blocking()) deps->push_back(stream->tail);
  }
  for (const auto& [thread, stream] : exec.per_thread) deps->push_back(stream->tail);
  deps->insert(deps->end(), exec.orphans.begin(), exec.orphans.end());
}

CUresult findStream(Context& current, StreamArgument argument, Stream** out) {
  const auto handle = reinterpret_cast<std::uintptr_t>(argument.stream);
  ExecContext& exec = execOf(current);
  if (handle == kStreamLegacy || (handle == 0 && !argument.per_thread)) {
    *out = exec.legacy.get();
    return CUDA_SUCCESS;
  }
  if (handle == 0 || handle == kStreamPerThread) {
    *out = perThreadStream(exec);
    return CUDA_SUCCESS;
  }
  *out = StreamHandles::get().find(argument.stream);
  if (*out == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return (*out)->exec.context.sticky();
}

OpRef enqueue(Stream& stream, Work work) {
  if (!work.own_priority) work.spec.priority = static_cast<std::int8_t>(stream.priority);
  return place(stream.exec, std::move(work), stream);
}

CUresult synchronize(Stream& stream) {
  OpRef tail = 0;
  {
    EngineLock lock(stream.exec.device.engine);
    tail = stream.tail;
  }
  return waitFor(stream.exec, tail);
}

}  // namespace divvy::simgpu
