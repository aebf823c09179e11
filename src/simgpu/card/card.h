// One simulated card: the file that all its users map, its accounts, its lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "card/card_layout.h"
#include "card/profile.h"

namespace divvy::simgpu {

// Makes the directory (0700, parents included) that holds a machine's card files.
// False: it cannot be made, or is neither ours nor for all users.
bool prepareCardDirectory(const std::string& dir);
// Where the directory is for all users, a file in it is, too.
void matchDirectoryAccess(int file, const std::string& dir);

// Opens a file of such a directory, made where it is missing. Where others may write into the
// directory, others may use the file, whatever the umask: containers of several users share a card.
int openCardFile(const std::string& dir, const std::string& path);

class Card {
 public:
  Card() = default;
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
  ~Card();

  // Maps the card's file, making it first if needed (atomically: others never see it half made).
  // False when the directory cannot be written, or holds a file of another version or profile.
  bool open(const std::string& dir, const Profile& profile, int index);
  // Maps an existing file, never creates one.
  bool openExisting(const std::string& dir, int index);

  bool isOpen() const { return file_ != nullptr; }
  CardFile& file() const { return *file_; }
  std::uint64_t capacity() const { return file_->capacity; }

  // Claims this process's record; idempotent. False: all records are taken by live processes.
  bool join();
  // Gives the record back with everything charged to it.
  void releaseRecord();
  // This process's record, nullptr before join().
  ProcessRecord* self() const { return self_; }
  int selfIndex() const;

  // Admits n bytes of a kind for this process. Returns true and charges them, or returns false and
  // changes nothing. Records of dead processes are swept before a refusal.
  bool charge(Charge kind, std::uint64_t bytes);
  void refund(Charge kind, std::uint64_t bytes);
  void moveCharge(Charge from, Charge to, std::uint64_t bytes);
  void countContext(int delta);
  void countManaged(int delta);

  // Memory that other processes may hold. `exportBlock` turns bytes charged to this process into a
  // block that it holds, and returns the block's ID (0: table full). `holdBlock` adds this process
  // as a holder (false: the block no longer exists). `dropBlock` ends this process's hold; the last
  // one refunds the card.
  std::uint64_t exportBlock(Charge kind, std::uint64_t bytes);
  bool holdBlock(std::uint64_t id);
  void dropBlock(std::uint64_t id);

  // Bytes in use, dead processes swept first.
  std::uint64_t used();
  CardView view();

  bool lost() const { return file_->lost.load(std::memory_order_relaxed) != 0; }
  // Something for NVML's event sets (type: nvmlEventType bit; data: Xid).
  void postEvent(std::uint64_t type, std::uint64_t data);

  // True while the process that claimed record `index` lives. Needs no lock.
  bool alive(int index) const;
  // Returns true while the process that claimed record `index` lives and is not this one.
  bool lockedByOther(int index) const;
  // The PID of the process that claimed record `index` in the caller's PID namespace, as NVML
  // returns it; the process may have another number in its container. 0: it has ended, or is not
  // visible from here.
  int pidOf(int index) const;
  // The record of a live process, or nullptr. Under the card's lock.
  ProcessRecord* findLocked(std::uint32_t pid, std::uint64_t start_time);

  // For checkpoints, all under the card's lock. The record of the live process with this pid.
  ProcessRecord* findPidLocked(std::uint32_t pid);
  // Whether the process shares memory with others here: exported, imported or by IPC.
  bool sharesLocked(const ProcessRecord& record) const;
  // Takes everything the process holds off the card, to be brought back.
  void saveLocked(ProcessRecord& record);
  // Whether what was saved fits on the card now, and bringing it back.
  bool fitsLocked(const ProcessRecord& record);
  void restoreLocked(ProcessRecord& record);

 private:
  friend class CardLock;
  bool attach(const std::string& dir, int index);
  // The values of a process's record that are known from the start.
  struct ProcessIdentity {
    std::uint32_t pid;
    std::uint64_t start_time;
    char name[64];
  };
  bool claimFreeRecordLocked(const ProcessIdentity& identity);
  bool claimLocked(int index, const ProcessIdentity& identity);
  void sweepLocked();
  void clearLocked(int index);
  void recomputeLocked();
  void notePeakLocked();
  void releaseHoldLocked(SharedBlock& block, int index);
  SharedBlock* findBlockLocked(std::uint64_t id);

  CardFile* file_ = nullptr;
  ProcessRecord* self_ = nullptr;
  int live_fd_ = -1;  // never closed, see attach()
};

// Holds the card's mutex. A holder that died is recovered from: sums are recomputed from the
// records.
class CardLock {
 public:
  // `card` must be open.
  explicit CardLock(Card& card);
  ~CardLock();
  CardLock(const CardLock&) = delete;
  CardLock& operator=(const CardLock&) = delete;

 private:
  Card& card_;
};

// Adds an executed interval to a process's busy time. CLOCK_MONOTONIC nanoseconds. Under the card's
// lock. Parts older than the ring are dropped.
void addBusyLocked(ProcessRecord& record, std::uint64_t start_ns, std::uint64_t end_ns, bool copy);

// Field 22 of /proc/<pid>/stat; 0 when there is no such process.
std::uint64_t processStartTime(int pid);

}  // namespace divvy::simgpu
