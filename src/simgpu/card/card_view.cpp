// Reads a card's accounts, and the busy time of its processes.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <unistd.h>

#include "card/card.h"

namespace divvy::simgpu {
namespace {

bool holdsBlock(const SharedBlock& block, std::uint32_t index) {
  return (block.holders[index / 64] >> (index % 64) & 1) != 0;
}

// The process that a shared block is shown with: its exporter, or after that released it, the first
// holder.
std::uint32_t shownWith(const SharedBlock& block) {
  if (holdsBlock(block, block.owner)) return block.owner;
  for (std::uint32_t i = 0; i < kMaxProcesses; ++i) {
    if (holdsBlock(block, i)) return i;
  }
  return kMaxProcesses;
}

ProcessView viewOf(const ProcessRecord& record, int index, int pid) {
  ProcessView view{};
  view.pid = pid;
  view.start_time = record.start_time;
  view.contexts = static_cast<int>(record.contexts);
  view.record = index;
  view.name = record.name;
  for (int kind = 0; kind < kChargeKinds; ++kind) {
    view.by_kind[kind] = record.bytes[kind];
    view.saved += record.checkpoint.saved[kind];
  }
  return view;
}

}  // namespace

CardView Card::view() {
  CardLock lock(*this);
  sweepLocked();
  CardView view{};
  view.capacity = file_->capacity;
  view.peak = file_->peak_used;
  view.unmapped_under_work = file_->unmapped_under_work.load(std::memory_order_relaxed);
  std::map<std::uint32_t, ProcessView> by_index;
  for (std::uint32_t i = 0; std::cmp_less(i, file_->records); ++i) {
    const ProcessRecord& record = file_->processes[i];
    if (record.claimed != 0)
      by_index.emplace(i, viewOf(record, static_cast<int>(i), pidOf(static_cast<int>(i))));
  }
  for (const SharedBlock& block : file_->blocks) {
    if (block.id == 0) continue;
    const auto holder = by_index.find(shownWith(block));
    if (holder != by_index.end()) holder->second.by_kind[block.kind] += block.bytes;
  }
  for (auto& [index, process] : by_index) {
    for (const std::uint64_t bytes : process.by_kind) process.bytes += bytes;
    view.used += process.bytes;
    view.processes.push_back(std::move(process));
  }
  return view;
}

void addBusyLocked(ProcessRecord& record, std::uint64_t start_ns, std::uint64_t end_ns, bool copy) {
  const std::uint64_t reach = kBusyBucketNs * (kBusyBuckets - 1);
  if (end_ns > reach) start_ns = std::max(start_ns, end_ns - reach);
  while (start_ns < end_ns) {
    const std::uint64_t window = start_ns / kBusyBucketNs;
    const std::uint64_t stop = std::min(end_ns, (window + 1) * kBusyBucketNs);
    BusyBucket& bucket = record.busy[window % kBusyBuckets];
    if (bucket.window != window) bucket = {window, 0, 0};
    (copy ? bucket.copy_ns : bucket.compute_ns) += stop - start_ns;
    if (!copy) record.busy_ns += stop - start_ns;
    start_ns = stop;
  }
}

std::string_view chargeName(Charge kind) {
  constexpr std::string_view kNames[kChargeKinds] = {"context", "plain", "managed", "pool",
                                                     "vmm",     "array", "graph",   "module"};
  return kNames[static_cast<int>(kind)];
}

std::string cardDirectory() {
  if (const char* dir = std::getenv("SIMGPU_DIR"); dir != nullptr && *dir != 0) return dir;
  const char* text = std::getenv("SIMGPU_PROFILE");
  const auto machine = parseMachine(text == nullptr || *text == 0 ? kDefaultProfile : text);
  const std::string name = machine ? machine->name() : "unknown";
  return "/dev/shm/simgpu-" + std::to_string(geteuid()) + "-" + name;
}

std::optional<CardView> readCard(const std::string& dir, int index) {
  static std::mutex mutex;
  // Never destroyed: exit handlers call NVML.
  static auto& open_cards = *new std::map<std::pair<std::string, int>, std::unique_ptr<Card>>;
  const std::lock_guard guard(mutex);
  std::unique_ptr<Card>& card = open_cards[{dir, index}];
  if (card == nullptr) {
    auto fresh = std::make_unique<Card>();
    if (!fresh->openExisting(dir, index)) return std::nullopt;
    card = std::move(fresh);
  }
  return card->view();
}

}  // namespace divvy::simgpu
