#include "points/memory_tier.h"

#include "points/varint.h"

namespace divvy::history {
namespace {

struct Record {
  Instant start{};
  std::string_view chunk;
};

// Takes a record off the front. `records` is what MemoryTier wrote.
Record takeRecord(std::string_view& records, Span chunk_span) {
  const std::int64_t number = unzigzag(takeVarint(records).value());
  const std::size_t length = takeVarint(records).value();
  const Record record{Instant(chunk_span * number), records.substr(0, length)};
  records.remove_prefix(length);
  return record;
}

}  // namespace

void OpenChunk::put(Instant time, Span step, const Point& point) {
  if (empty) start = floorTo(time, step * static_cast<int>(kChunkPoints));
  empty = false;
  points[static_cast<std::size_t>((time - start) / step)] = point;
}

void OpenChunk::read(Span step, Instant from, Instant to, const PointSink& sink) const {
  if (empty) return;
  Instant time = start;
  for (const Point& point : points) {
    if (point.weight != 0 && time >= from && time < to) sink(time, point);
    time += step;
  }
}

void MemoryTier::put(Instant time, const Point& point) {
  if (!open_.empty && time >= open_.start + chunkSpan()) {
    const std::string chunk = encodeChunk(open_.points);
    putVarint(sealed_, zigzag(open_.start.time_since_epoch() / chunkSpan()));
    putVarint(sealed_, chunk.size());
    sealed_ += chunk;
    open_.clear();
    trim(time);
  }
  open_.put(time, step_, point);
}

void MemoryTier::trim(Instant now) {
  std::string_view records = sealed_;
  std::size_t removed = 0;
  while (!records.empty()) {
    const Record record = takeRecord(records, chunkSpan());
    if (record.start + chunkSpan() > now - keep_) break;
    removed = sealed_.size() - records.size();
  }
  sealed_.erase(0, removed);
  if (!open_.empty && open_.start + chunkSpan() <= now - keep_) open_.clear();
}

void MemoryTier::clear() {
  sealed_.clear();
  open_.clear();
}

void MemoryTier::read(Instant from, Instant to, const PointSink& sink) const {
  std::string_view records = sealed_;
  while (!records.empty()) {
    const Record record = takeRecord(records, chunkSpan());
    if (record.start + chunkSpan() <= from || record.start >= to) continue;
    OpenChunk chunk{record.start, decodeChunk(record.chunk).value(), false};
    chunk.read(step_, from, to, sink);
  }
  open_.read(step_, from, to, sink);
}

}  // namespace divvy::history
