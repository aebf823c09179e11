// Accounts of processes that are checkpointed.
#include <algorithm>
#include <cstring>

#include "card/card.h"

namespace divvy::simgpu {
namespace {

std::uint64_t sum(const std::uint64_t (&kinds)[kChargeKinds]) {
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : kinds) total += bytes;
  return total;
}

}  // namespace

ProcessRecord* Card::findPidLocked(std::uint32_t pid) {
  for (int i = 0; i < file_->records; ++i) {
    ProcessRecord& record = file_->processes[i];
    if (record.claimed != 0 && pidOf(i) == static_cast<int>(pid)) return &record;
  }
  return nullptr;
}

bool Card::sharesLocked(const ProcessRecord& record) const {
  const auto index = static_cast<std::size_t>(&record - file_->processes);
  return std::any_of(std::begin(file_->blocks), std::end(file_->blocks), [&](const auto& block) {
    return block.id != 0 && (block.holders[index / 64] >> (index % 64) & 1) != 0;
  });
}

void Card::saveLocked(ProcessRecord& record) {
  std::memcpy(record.checkpoint.saved, record.bytes, sizeof record.bytes);
  record.checkpoint.saved_contexts = record.contexts;
  std::memset(record.bytes, 0, sizeof record.bytes);
  record.contexts = 0;
  file_->used -= std::min(file_->used, sum(record.checkpoint.saved));
}

bool Card::fitsLocked(const ProcessRecord& record) {
  sweepLocked();
  return sum(record.checkpoint.saved) <= file_->capacity - std::min(file_->capacity, file_->used);
}

void Card::restoreLocked(ProcessRecord& record) {
  std::memcpy(record.bytes, record.checkpoint.saved, sizeof record.bytes);
  record.contexts = record.checkpoint.saved_contexts;
  std::memset(record.checkpoint.saved, 0, sizeof record.checkpoint.saved);
  record.checkpoint.saved_contexts = 0;
  file_->used += sum(record.bytes);
  notePeakLocked();
}

}  // namespace divvy::simgpu
