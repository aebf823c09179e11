// The accounts of a card. They are exact after the death of any process at any instruction, because
// sums are derived from the records of live processes.
#include "card/card.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace divvy::simgpu {
namespace {

int slot(Charge kind) {
  return static_cast<int>(kind);
}

bool holds(const SharedBlock& block, int index) {
  return (block.holders[index / 64] >> (index % 64) & 1) != 0;
}

bool anyHolder(const SharedBlock& block) {
  return std::any_of(std::begin(block.holders), std::end(block.holders),
                     [](std::uint64_t bits) { return bits != 0; });
}

std::uint64_t sum(const ProcessRecord& record) {
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : record.bytes) total += bytes;
  return total;
}

void readOwnName(char (&name)[64]) {
  std::FILE* file = std::fopen("/proc/self/cmdline", "re");
  if (file == nullptr) return;
  const std::size_t read = std::fread(name, 1, sizeof name - 1, file);
  name[read] = 0;
  std::fclose(file);
}

std::uint64_t realtimeNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t processStartTime(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  char text[1024];
  text[std::fread(text, 1, sizeof text - 1, file)] = 0;
  std::fclose(file);
  // The name is in parentheses and may contain anything, so fields are counted from the last one.
  const char* at = std::strrchr(text, ')');
  unsigned long long start = 0;
  if (at == nullptr ||
      std::sscanf(at + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                  "%*d %*d %llu",
                  &start) != 1) {
    return 0;
  }
  return start;
}

CardLock::CardLock(Card& card) : card_(card) {
  if (pthread_mutex_lock(&card.file_->mutex) == EOWNERDEAD) {
    card.recomputeLocked();
    pthread_mutex_consistent(&card.file_->mutex);
  }
}

CardLock::~CardLock() {
  pthread_mutex_unlock(&card_.file_->mutex);
}

bool Card::alive(int index) const {
  const ProcessRecord& record = file_->processes[index];
  // A process does not see its own locks. Others may have its PID: in a container they all do.
  if (&record == self_) return true;
  if (record.pid == static_cast<std::uint32_t>(getpid()) &&
      record.start_time == processStartTime(getpid())) {
    return true;
  }
  return lockedByOther(index);
}

bool Card::lockedByOther(int index) const {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  return fcntl(live_fd_, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

int Card::pidOf(int index) const {
  if (&file_->processes[index] == self_) return getpid();
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  // The kernel returns the lock's owner in the PID namespace of the caller.
  if (fcntl(live_fd_, F_GETLK, &lock) != 0) return static_cast<int>(file_->processes[index].pid);
  if (lock.l_type != F_UNLCK) return std::max(lock.l_pid, 0);
  return alive(index) ? getpid() : 0;  // another mapping of this process
}

void Card::clearLocked(int index) {
  ProcessRecord& record = file_->processes[index];
  file_->used -= std::min(file_->used, sum(record));
  const bool none_shared_ever = file_->next_block == kFirstBlockId;
  for (SharedBlock& block : file_->blocks) {
    if (none_shared_ever) break;
    if (block.id != 0 && holds(block, index)) releaseHoldLocked(block, index);
  }
  if (file_->accounting != 0 && record.contexts_made != 0) {
    file_->accounts[file_->next_account++ % kAccountingRing] = {
        record.pid, 0, record.peak_bytes, record.claimed_ns, realtimeNs(), record.busy_ns};
  }
  const std::uint64_t generation = record.generation;
  record.claimed = 0;
  std::memset(static_cast<void*>(&record), 0, sizeof record);
  record.generation = generation;
}

void Card::sweepLocked() {
  for (int i = 0; i < file_->records; ++i) {
    if (file_->processes[i].claimed != 0 && !alive(i)) clearLocked(i);
  }
}

void Card::recomputeLocked() {
  sweepLocked();
  std::uint64_t used = 0;
  for (const ProcessRecord& record : file_->processes) {
    if (record.claimed != 0) used += sum(record);
  }
  for (SharedBlock& block : file_->blocks) {
    if (block.id == 0) continue;
    if (anyHolder(block)) {
      used += block.bytes;
    } else {
      block.id = 0;
    }
  }
  file_->used = used;
}

bool Card::claimLocked(int index, const ProcessIdentity& identity) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = index;
  lock.l_len = 1;
  if (fcntl(live_fd_, F_SETLK, &lock) != 0) return false;
  ProcessRecord& record = file_->processes[index];
  std::memset(static_cast<void*>(&record), 0, sizeof record);
  record.pid = identity.pid;
  record.start_time = identity.start_time;
  record.generation = file_->next_generation++;
  record.claimed_ns = realtimeNs();
  std::memcpy(record.name, identity.name, sizeof record.name);
  file_->records = std::max(file_->records, index + 1);
  record.claimed = 1;
  self_ = &record;
  return true;
}

bool Card::join() {
  if (self_ != nullptr) return true;
  // Outside the lock, because hundreds of processes may start at once.
  ProcessIdentity identity{static_cast<std::uint32_t>(getpid()), processStartTime(getpid()), {}};
  readOwnName(identity.name);
  CardLock lock(*this);
  bool alone = true;
  for (int i = 0; i < file_->records; ++i) {
    const ProcessRecord& record = file_->processes[i];
    if (record.claimed == 0) continue;
    // A record with this process's identity that it did not claim: left by its program before exec.
    // A locked one belongs to the first process of another container that started in the same tick.
    if (record.pid == identity.pid && record.start_time == identity.start_time &&
        !lockedByOther(i)) {
      clearLocked(i);
    } else if (alone) {
      // Dead records after the first live one are swept later, before their figures are used.
      alone = !alive(i);
      if (alone) clearLocked(i);
    }
  }
  // Without users a lost card is back on the bus, as after a power cycle.
  if (alone) file_->lost.store(0);
  if (claimFreeRecordLocked(identity)) return true;
  sweepLocked();
  return claimFreeRecordLocked(identity);
}

bool Card::claimFreeRecordLocked(const ProcessIdentity& identity) {
  for (int i = 0; i < kMaxProcesses; ++i) {
    if (file_->processes[i].claimed == 0 && claimLocked(i, identity)) return true;
  }
  return false;
}

void Card::releaseRecord() {
  if (self_ == nullptr) return;
  CardLock lock(*this);
  const int index = selfIndex();
  clearLocked(index);
  self_ = nullptr;
  struct flock unlock {};
  unlock.l_type = F_UNLCK;
  unlock.l_whence = SEEK_SET;
  unlock.l_start = index;
  unlock.l_len = 1;
  fcntl(live_fd_, F_SETLK, &unlock);
}

int Card::selfIndex() const {
  return static_cast<int>(self_ - file_->processes);
}

bool Card::charge(Charge kind, std::uint64_t bytes) {
  CardLock lock(*this);
  if (bytes > file_->capacity) return false;
  if (file_->used + bytes > file_->capacity) {
    sweepLocked();
    if (file_->used + bytes > file_->capacity) return false;
  }
  self_->bytes[slot(kind)] += bytes;
  file_->used += bytes;
  self_->peak_bytes = std::max(self_->peak_bytes, sum(*self_));
  notePeakLocked();
  return true;
}

void Card::notePeakLocked() {
  if (file_->used <= file_->peak_used) return;
  sweepLocked();  // memory of dead processes must not be part of a peak
  file_->peak_used = std::max(file_->peak_used, file_->used);
}

void Card::refund(Charge kind, std::uint64_t bytes) {
  CardLock lock(*this);
  const std::uint64_t real = std::min(bytes, self_->bytes[slot(kind)]);
  self_->bytes[slot(kind)] -= real;
  file_->used -= real;
}

void Card::moveCharge(Charge from, Charge to, std::uint64_t bytes) {
  CardLock lock(*this);
  const std::uint64_t real = std::min(bytes, self_->bytes[slot(from)]);
  self_->bytes[slot(from)] -= real;
  self_->bytes[slot(to)] += real;
}

void Card::countContext(int delta) {
  CardLock lock(*this);
  self_->contexts += static_cast<std::uint32_t>(delta);
  if (delta > 0) ++self_->contexts_made;
}

void Card::countManaged(int delta) {
  CardLock lock(*this);
  self_->checkpoint.managed += static_cast<std::uint32_t>(delta);
}

SharedBlock* Card::findBlockLocked(std::uint64_t id) {
  for (SharedBlock& block : file_->blocks) {
    if (id != 0 && block.id == id) return &block;
  }
  return nullptr;
}

void Card::releaseHoldLocked(SharedBlock& block, int index) {
  block.holders[index / 64] &= ~(1ULL << (index % 64));
  if (anyHolder(block)) return;
  file_->used -= std::min(file_->used, block.bytes);
  block.id = 0;
}

std::uint64_t Card::exportBlock(Charge kind, std::uint64_t bytes) {
  CardLock lock(*this);
  for (SharedBlock& block : file_->blocks) {
    if (block.id != 0) continue;
    std::memset(&block, 0, sizeof block);
    block.bytes = std::min(bytes, self_->bytes[slot(kind)]);
    block.kind = static_cast<std::uint32_t>(slot(kind));
    block.owner = static_cast<std::uint32_t>(selfIndex());
    block.holders[selfIndex() / 64] = 1ULL << (selfIndex() % 64);
    block.id = file_->next_block++;
    self_->bytes[slot(kind)] -= block.bytes;
    return block.id;
  }
  return 0;
}

bool Card::holdBlock(std::uint64_t id) {
  CardLock lock(*this);
  SharedBlock* block = findBlockLocked(id);
  if (block == nullptr) return false;
  block->holders[selfIndex() / 64] |= 1ULL << (selfIndex() % 64);
  return true;
}

void Card::dropBlock(std::uint64_t id) {
  CardLock lock(*this);
  SharedBlock* block = findBlockLocked(id);
  if (block != nullptr && holds(*block, selfIndex())) releaseHoldLocked(*block, selfIndex());
}

std::uint64_t Card::used() {
  CardLock lock(*this);
  sweepLocked();
  return file_->used;
}

ProcessRecord* Card::findLocked(std::uint32_t pid, std::uint64_t start_time) {
  for (int i = 0; i < file_->records; ++i) {
    ProcessRecord& record = file_->processes[i];
    if (record.claimed != 0 && record.pid == pid && record.start_time == start_time && alive(i)) {
      return &record;
    }
  }
  return nullptr;
}

void Card::postEvent(std::uint64_t type, std::uint64_t data) {
  CardLock lock(*this);
  CardEvent& event = file_->events[file_->next_event % kEventRing];
  event.type = type;
  event.data = data;
  event.time_ns = realtimeNs();
  event.sequence = ++file_->next_event;
}

}  // namespace divvy::simgpu
