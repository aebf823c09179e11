#include "cuda/engine/access_log.h"

#include <algorithm>

namespace divvy::simgpu {
namespace {

template <typename Spans>
bool anyOverlaps(const Spans& spans, const MemorySpan& range) {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const MemorySpan& span) { return span.overlaps(range); });
}

}  // namespace

bool TouchLog::consume(const MemorySpan& range) {
  if (anyOverlaps(touched_, range)) return true;
  taken_.push_back(range);
  return false;
}

bool TouchLog::touch(const MemorySpan& range) {
  const bool known = std::any_of(touched_.begin(), touched_.end(), [&](const MemorySpan& span) {
    return span.begin == range.begin && span.bytes == range.bytes;
  });
  if (!known) touched_.push_back(range);
  return anyOverlaps(taken_, range);
}

bool MemoryUse::disturbedBy(const MemorySpan& range, bool unknown) const {
  if (log != nullptr) return log->consume(range);
  return known ? anyOverlaps(spans, range) : unknown;
}

}  // namespace divvy::simgpu
