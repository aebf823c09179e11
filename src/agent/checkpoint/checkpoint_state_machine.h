// The checkpoint and restore of one tenant: all of its processes or none. Pure: the caller supplies
// answers and instants, and makes the returned driver calls one at a time.
//
//   kHere --takeAway--> kLeaving: lock all, then checkpoint all --> kAway
//   kAway --bringBack--> kReturning: restore all, then unlock all --> kHere
//
// A failed checkpoint is undone: kLeaving becomes kReturning. The driver's state of a process is
// authoritative: after any call that did not succeed, it is queried again. A process that lost its
// memory is doomed: the caller must kill it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_eligibility.h"

namespace divvy::agent {

using CheckpointTime = std::chrono::milliseconds;  // of a clock of the caller's choice

enum class CheckpointPhase : std::uint8_t { kHere, kLeaving, kAway, kReturning };
enum class CheckpointCall : std::uint8_t { kState, kLock, kCheckpoint, kRestore, kUnlock };

// The driver's state of a process. kBusy: between two states, by a call of any process. kNone: the
// driver does not know the process.
enum class DriverState : std::uint8_t { kUnknown, kRunning, kLocked, kAway, kFailed, kBusy, kNone };

enum class CheckpointAnswer : std::uint8_t {
  kDone,
  kNotReady,  // the time for the lock expired
  kRefused,   // nothing was done
  kNoRoom,    // too little memory to restore it, found before the call
  kNoMemory,  // too little memory to restore it, reported by the driver: it is lost
  kLost,      // lost for another reason
  kGone,      // the driver knows no such process
  kSilent,    // no answer within the limit
};

struct CheckpointStep {
  CheckpointCall call = CheckpointCall::kState;
  int pid = 0;
  CheckpointTime limit{};  // after which the answer is kSilent
  friend bool operator==(const CheckpointStep&, const CheckpointStep&) = default;
};

// Time for a process to finish its work before the lock.
inline constexpr CheckpointTime kLockTimeout{2000};

class CheckpointStateMachine {
 public:
  struct LostProcess {
    int pid = 0;
    std::string why;
  };

  // kAway, kReturning: as an earlier agent left it. kLeaving is undone.
  explicit CheckpointStateMachine(CheckpointPhase from = CheckpointPhase::kHere);

  // Sets the processes that use the devices now.
  void setProcesses(const std::vector<int>& pids);
  // Requires kHere. The tenant's memory stays reserved for it until kAway.
  void takeAway();
  // Requires kAway, and that restoreNeeds() is reserved on each device.
  void bringBack();

  // Returns the call to make now. Nothing: a call is under way, or it is too early.
  std::optional<CheckpointStep> next(CheckpointTime now);
  // Takes the answer to the call under way. `state` is the answer to kState.
  void answered(CheckpointAnswer answer, DriverState state, CheckpointTime now);

  CheckpointPhase phase() const { return phase_; }
  bool asking() const { return under_way_.has_value(); }
  bool resting() const {
    return phase_ == CheckpointPhase::kHere || phase_ == CheckpointPhase::kAway;
  }
  // Processes that the caller must kill and report.
  const std::vector<LostProcess>& doomed() const { return doomed_; }
  // Why the last checkpoint was refused, and until when none should be tried.
  Ineligibility bar() const { return bar_; }
  CheckpointTime barredUntil() const { return barred_until_; }
  // Returns the instant before which no restore should be tried.
  CheckpointTime postponedUntil() const { return postponed_until_; }

 private:
  struct Process {
    int pid = 0;
    DriverState state = DriverState::kUnknown;
    unsigned tries = 0;  // consecutive failed tries
    CheckpointTime ask_at{};
    std::optional<CheckpointTime> busy_since;
  };

  Process* find(int pid);
  bool isDoomed(int pid) const;
  void forget(int pid);
  void askAnew();
  void doom(int pid, const std::string& why, CheckpointTime now);
  bool all(DriverState state) const;
  bool any(DriverState state) const;
  std::optional<CheckpointStep> stepFor(CheckpointTime now);
  void settle();
  void failed(Process* process, CheckpointCall call, CheckpointAnswer answer, CheckpointTime now);
  void noRoom(Process* process, CheckpointTime now);
  void retry(Process* process, CheckpointTime now);
  void turnBack(Ineligibility why, CheckpointTime now);
  void noteState(Process* process, DriverState state, CheckpointTime now);

  CheckpointPhase phase_;
  bool reserved_ = false;  // it returns from kAway, so all of its memory is reserved
  bool seen_ = false;      // it had a process
  std::vector<Process> processes_;
  std::optional<CheckpointStep> under_way_;
  std::vector<LostProcess> doomed_;
  Ineligibility bar_ = Ineligibility::kNone;
  unsigned turned_back_ = 0;  // consecutive
  CheckpointTime barred_until_{};
  CheckpointTime postponed_until_{};
};

// "here", "leaving", "away", "returning".
const char* phaseName(CheckpointPhase phase);
// Returns nothing for an unknown word.
std::optional<CheckpointPhase> phaseNamed(std::string_view word);

}  // namespace divvy::agent
