#include "checkpoint/checkpoint_state_machine.h"

#include <algorithm>
#include <array>

namespace divvy::agent {
namespace {

using namespace std::chrono_literals;

// A driver that takes longer hangs.
constexpr CheckpointTime kAskLimit = 30s;
constexpr CheckpointTime kCopyLimit = 10min;
// Pause between queries of a process that another call changes, and its limit. Calls of an agent
// that died continue without it.
constexpr CheckpointTime kBusyPause = 250ms;
// Pause after a failed call; doubles.
constexpr CheckpointTime kRetry = 500ms;
constexpr unsigned kMaxTries = 8;
// Pause before a tenant that was not ready is tried again; doubles. If the driver refused a
// tenant's memory, the pause is long.
constexpr CheckpointTime kBusyRest = 5s;
constexpr CheckpointTime kRefusedRest = 60s;
constexpr CheckpointTime kMaxRest = 10min;
// Pause before a restore that lacked memory is tried again.
constexpr CheckpointTime kNoRoomRest = 1s;

constexpr std::array<const char*, 4> kPhaseNames{"here", "leaving", "away", "returning"};

CheckpointTime limitOf(CheckpointCall call) {
  switch (call) {
    case CheckpointCall::kCheckpoint:
    case CheckpointCall::kRestore:
      return kCopyLimit;
    case CheckpointCall::kLock:
      return kLockTimeout + kAskLimit;
    case CheckpointCall::kState:
    case CheckpointCall::kUnlock:
      break;
  }
  return kAskLimit;
}

DriverState stateAfter(CheckpointCall call) {
  switch (call) {
    case CheckpointCall::kLock:
    case CheckpointCall::kRestore:
      return DriverState::kLocked;
    case CheckpointCall::kCheckpoint:
      return DriverState::kAway;
    case CheckpointCall::kUnlock:
      return DriverState::kRunning;
    case CheckpointCall::kState:
      break;
  }
  return DriverState::kUnknown;
}

}  // namespace

const char* phaseName(CheckpointPhase phase) {
  return kPhaseNames.at(static_cast<std::size_t>(phase));
}

std::optional<CheckpointPhase> phaseNamed(std::string_view word) {
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    if (word == kPhaseNames[i]) return static_cast<CheckpointPhase>(i);
  return std::nullopt;
}

CheckpointStateMachine::CheckpointStateMachine(CheckpointPhase from)
    : phase_(from == CheckpointPhase::kLeaving ? CheckpointPhase::kReturning : from),
      reserved_(from == CheckpointPhase::kReturning) {}

CheckpointStateMachine::Process* CheckpointStateMachine::find(int pid) {
  const auto found = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const Process& process) { return process.pid == pid; });
  return found == processes_.end() ? nullptr : &*found;
}

bool CheckpointStateMachine::isDoomed(int pid) const {
  return std::any_of(doomed_.begin(), doomed_.end(),
                     [&](const LostProcess& doomed) { return doomed.pid == pid; });
}

void CheckpointStateMachine::forget(int pid) {
  std::erase_if(processes_, [&](const Process& process) { return process.pid == pid; });
  std::erase_if(doomed_, [&](const LostProcess& doomed) { return doomed.pid == pid; });
}

// All or none: a tenant that cannot leave completely is brought back.
void CheckpointStateMachine::doom(int pid, const std::string& why, CheckpointTime now) {
  if (!isDoomed(pid)) doomed_.push_back({pid, why});
  if (phase_ == CheckpointPhase::kLeaving) turnBack(Ineligibility::kRefused, now);
}

// Considers processes that are not doomed.
bool CheckpointStateMachine::all(DriverState state) const {
  return std::all_of(processes_.begin(), processes_.end(), [&](const Process& process) {
    return process.state == state || process.state == DriverState::kNone || isDoomed(process.pid);
  });
}

bool CheckpointStateMachine::any(DriverState state) const {
  return std::any_of(processes_.begin(), processes_.end(), [&](const Process& process) {
    return process.state == state && !isDoomed(process.pid);
  });
}

void CheckpointStateMachine::setProcesses(const std::vector<int>& pids) {
  std::vector<int> gone;
  for (const Process& process : processes_)
    if (std::find(pids.begin(), pids.end(), process.pid) == pids.end()) gone.push_back(process.pid);
  for (const int pid : gone) forget(pid);
  for (const int pid : pids) {
    if (find(pid) != nullptr) continue;
    Process& process = processes_.emplace_back();
    process.pid = pid;
    // New processes of a tenant that is away run on the device. Processes that an earlier agent
    // checkpointed are queried when they are restored.
    if (phase_ == CheckpointPhase::kAway)
      process.state = seen_ ? DriverState::kRunning : DriverState::kAway;
  }
  seen_ = seen_ || !pids.empty();
  if (phase_ == CheckpointPhase::kAway && seen_ && !any(DriverState::kAway))
    phase_ = CheckpointPhase::kHere;
  settle();
}

void CheckpointStateMachine::askAnew() {
  for (Process& process : processes_) {
    const int pid = process.pid;
    process = Process();
    process.pid = pid;
  }
}

void CheckpointStateMachine::takeAway() {
  if (phase_ != CheckpointPhase::kHere) return;
  phase_ = CheckpointPhase::kLeaving;
  reserved_ = false;
  bar_ = Ineligibility::kNone;
  askAnew();
}

void CheckpointStateMachine::bringBack() {
  if (phase_ != CheckpointPhase::kAway) return;
  phase_ = CheckpointPhase::kReturning;
  reserved_ = true;
  askAnew();
}

// The transition ends when all processes have reached its end. A process in an unknown state
// prevents that.
void CheckpointStateMachine::settle() {
  if (under_way_ || resting()) return;
  if (phase_ == CheckpointPhase::kLeaving && all(DriverState::kAway)) {
    // If the driver knows none of the processes, nothing has to be restored.
    phase_ = any(DriverState::kAway) ? CheckpointPhase::kAway : CheckpointPhase::kHere;
    turned_back_ = 0;
  } else if (phase_ == CheckpointPhase::kReturning && all(DriverState::kRunning)) {
    phase_ = CheckpointPhase::kHere;
  }
}

std::optional<CheckpointStep> CheckpointStateMachine::next(CheckpointTime now) {
  if (under_way_ || resting()) return std::nullopt;
  settle();
  if (resting()) return std::nullopt;
  under_way_ = stepFor(now);
  return under_way_;
}

std::optional<CheckpointStep> CheckpointStateMachine::stepFor(CheckpointTime now) {
  const bool leaves = phase_ == CheckpointPhase::kLeaving;
  const auto step = [&](DriverState from, CheckpointCall call) -> std::optional<CheckpointStep> {
    for (const Process& process : processes_) {
      if (process.state == from && !isDoomed(process.pid) && process.ask_at <= now)
        return CheckpointStep{call, process.pid, limitOf(call)};
    }
    return std::nullopt;
  };
  for (const DriverState open : {DriverState::kUnknown, DriverState::kBusy})
    if (const auto asked = step(open, CheckpointCall::kState)) return asked;
  if (any(DriverState::kUnknown) || any(DriverState::kBusy)) return std::nullopt;
  const DriverState first = leaves ? DriverState::kRunning : DriverState::kAway;
  if (any(first)) return step(first, leaves ? CheckpointCall::kLock : CheckpointCall::kRestore);
  return step(DriverState::kLocked, leaves ? CheckpointCall::kCheckpoint : CheckpointCall::kUnlock);
}

void CheckpointStateMachine::answered(CheckpointAnswer answer, DriverState state,
                                      CheckpointTime now) {
  if (!under_way_) return;
  const CheckpointStep step = *under_way_;
  under_way_.reset();
  Process* process = find(step.pid);
  if (process == nullptr) return settle();  // the process ended meanwhile
  if (answer == CheckpointAnswer::kGone) {
    process->state = DriverState::kNone;
  } else if (answer != CheckpointAnswer::kDone) {
    failed(process, step.call, answer, now);
  } else if (step.call == CheckpointCall::kState) {
    noteState(process, state, now);
  } else {
    process->state = stateAfter(step.call);
    process->tries = 0;
  }
  settle();
}

void CheckpointStateMachine::noteState(Process* process, DriverState state, CheckpointTime now) {
  process->state = state;
  if (state == DriverState::kFailed) doom(process->pid, "its checkpoint failed", now);
  if (state != DriverState::kBusy) {
    process->busy_since.reset();
    return;
  }
  process->busy_since = process->busy_since.value_or(now);
  process->ask_at = now + kBusyPause;
  if (now - *process->busy_since >= kCopyLimit)
    doom(process->pid, "its checkpoint was interrupted and does not complete", now);
}

void CheckpointStateMachine::failed(Process* process, CheckpointCall call, CheckpointAnswer answer,
                                    CheckpointTime now) {
  if (answer == CheckpointAnswer::kNoRoom) return noRoom(process, now);
  const bool lost = answer == CheckpointAnswer::kNoMemory || answer == CheckpointAnswer::kLost;
  const bool hangs = answer == CheckpointAnswer::kSilent &&
                     (call == CheckpointCall::kCheckpoint || call == CheckpointCall::kRestore);
  process->state = DriverState::kUnknown;
  if (call == CheckpointCall::kRestore && lost) {
    doom(process->pid,
         answer == CheckpointAnswer::kNoMemory
             ? "the device had too little memory to restore it, which is final"
             : "it could not be restored",
         now);
    return;
  }
  if (hangs) return doom(process->pid, "the driver did not complete its checkpoint", now);
  if (call == CheckpointCall::kLock || call == CheckpointCall::kCheckpoint) {
    turnBack(answer == CheckpointAnswer::kNotReady ? Ineligibility::kBusy : Ineligibility::kRefused,
             now);
    return;
  }
  retry(process, now);
  const bool gives_up = call != CheckpointCall::kState && process->tries >= kMaxTries;
  if (gives_up) doom(process->pid, "the driver does not unlock it", now);
}

// No call was made, so nothing is lost.
void CheckpointStateMachine::noRoom(Process* process, CheckpointTime now) {
  process->ask_at = now + kNoRoomRest;
  // Some of its processes are still locked. They left memory that is still reserved for it, so the
  // restore will have room.
  if (!reserved_ && !all(DriverState::kAway)) return;
  postponed_until_ = now + kNoRoomRest;
  // Processes that were restored first leave again, so that the tenant does not hold memory while
  // it waits.
  phase_ = CheckpointPhase::kLeaving;
  reserved_ = false;
}

void CheckpointStateMachine::retry(Process* process, CheckpointTime now) {
  process->ask_at = now + kRetry * (1 << std::min(process->tries, 6u));
  ++process->tries;
}

void CheckpointStateMachine::turnBack(Ineligibility why, CheckpointTime now) {
  const CheckpointTime rest = why == Ineligibility::kBusy ? kBusyRest : kRefusedRest;
  bar_ = why;
  barred_until_ = now + std::min(rest * (1 << std::min(turned_back_, 6u)), kMaxRest);
  ++turned_back_;
  phase_ = CheckpointPhase::kReturning;
}

}  // namespace divvy::agent
