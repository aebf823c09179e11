#include "cuda/checkpoint/checkpoint.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "card/engine_file.h"
#include "cuda/context/call_guard.h"
#include "cuda/context/runtime.h"
#include "cuda/engine/engine_cost.h"
#include "cuda/engine/engine_wait.h"

namespace divvy::simgpu {
namespace {

constexpr int kFirstDriver = 12080;
constexpr std::uint64_t kPause = 200'000;  // real time between checks of draining work

// A card of this host, whether or not this process may use it.
struct HostCard {
  const Profile* profile = nullptr;
  Card card;
  EngineFile engine;
};

// The cards in use, by index. Opened when first needed, and never closed.
std::vector<HostCard*> hostCards() {
  static std::mutex mutex;
  static auto* const known = new std::map<int, std::unique_ptr<HostCard>>;
  const std::lock_guard guard(mutex);
  const Runtime& runtime = Runtime::get();
  std::vector<HostCard*> found;
  for (int i = 0; i < static_cast<int>(runtime.machine().cards.size()); ++i) {
    std::unique_ptr<HostCard>& host_card = (*known)[i];
    if (host_card == nullptr) {
      auto fresh = std::make_unique<HostCard>();
      fresh->profile = runtime.machine().cards[static_cast<std::size_t>(i)];
      if (!fresh->card.openExisting(runtime.directory(), i) ||
          !fresh->engine.open(fresh->card, runtime.directory(), i, engineConfig(*fresh->profile))) {
        continue;
      }
      host_card = std::move(fresh);
    }
    found.push_back(host_card.get());
  }
  return found;
}

// A process on its cards. The first card has the state of its checkpoint. Records are reused after
// their processes' deaths, so every function here checks for that.
class CheckpointTarget {
 public:
  static std::optional<CheckpointTarget> find(int pid) {
    CheckpointTarget target;
    for (HostCard* host_card : hostCards()) {
      const CardLock lock(host_card->card);
      ProcessRecord* record = host_card->card.findPidLocked(static_cast<std::uint32_t>(pid));
      if (record != nullptr) target.at_.push_back({host_card, record, record->generation});
    }
    if (target.at_.empty()) return std::nullopt;
    return target;
  }

  // nullopt: the process has ended.
  std::optional<std::uint32_t> state() {
    const CardLock lock(at_.front().host_card->card);
    if (!isAlive(at_.front())) return std::nullopt;
    return primary().state.load();
  }
  // CUDA_ERROR_ILLEGAL_STATE unless it is in `from`.
  CUresult move(std::uint32_t from, std::uint32_t to) {
    const CardLock lock(at_.front().host_card->card);
    if (!isAlive(at_.front())) return CUDA_ERROR_INVALID_VALUE;
    if (!primary().state.compare_exchange_strong(from, to)) return CUDA_ERROR_ILLEGAL_STATE;
    if (to == CU_PROCESS_STATE_RUNNING) resumeCalls(primary());
    return CUDA_SUCCESS;
  }
  // Makes every later restore fail.
  void poison() {
    const CardLock lock(at_.front().host_card->card);
    if (isAlive(at_.front())) primary().poisoned = 1;
  }
  bool poisoned() {
    const CardLock lock(at_.front().host_card->card);
    return primary().poisoned != 0;
  }

  // No call is inside the driver, and nothing is pending or waits for its effect.
  bool drained() {
    if (primary().calls.load() != 0) return false;
    for (ProcessOnCard& at : at_) {
      EngineLock lock(at.host_card->engine);
      const TimelineState& timeline = lock.line().state();
      for (std::uint32_t lane = 0; lane < kMaxLanes; ++lane) {
        const Lane& l = timeline.lanes[lane];
        const bool ours =
            l.live != 0 && l.generation == at.generation &&
            &at.host_card->card.file().processes[l.record % kMaxProcesses] == at.record;
        if (ours && !lock.line().isDrained(lane)) return false;
      }
    }
    return true;
  }
  // Memory that a checkpoint cannot save.
  bool holdsForeign() {
    for (ProcessOnCard& at : at_) {
      const CardLock lock(at.host_card->card);
      const bool shares = at.host_card->card.sharesLocked(*at.record);
      if (shares || at.record->checkpoint.managed != 0) return true;
    }
    return false;
  }
  // The time to copy all its memory over the links of its cards, one after another.
  Nanos copyTime() {
    Nanos time = 0;
    for (ProcessOnCard& at : at_) {
      const CardLock lock(at.host_card->card);
      std::uint64_t bytes = 0;
      for (int kind = 0; kind < kChargeKinds; ++kind) {
        bytes += at.record->bytes[kind] + at.record->checkpoint.saved[kind];
      }
      time += CostModel(*at.host_card->profile).hostCopy(bytes);
    }
    return time;
  }
  void save() {
    for (ProcessOnCard& at : at_) {
      const CardLock lock(at.host_card->card);
      if (isAlive(at)) at.host_card->card.saveLocked(*at.record);
    }
  }
  // All or nothing.
  bool restore() {
    // in the order of the cards, so that no deadlock is possible
    std::vector<std::unique_ptr<CardLock>> locks;
    for (ProcessOnCard& at : at_) locks.push_back(std::make_unique<CardLock>(at.host_card->card));
    for (ProcessOnCard& at : at_) {
      if (!isAlive(at) || !at.host_card->card.fitsLocked(*at.record)) return false;
    }
    for (ProcessOnCard& at : at_) at.host_card->card.restoreLocked(*at.record);
    return true;
  }

 private:
  struct ProcessOnCard {
    HostCard* host_card;
    ProcessRecord* record;
    std::uint64_t generation;
  };

  static bool isAlive(const ProcessOnCard& at) {
    const Card& card = at.host_card->card;
    return at.record->claimed != 0 && at.record->generation == at.generation &&
           card.alive(static_cast<int>(at.record - card.file().processes));
  }
  CheckpointRecord& primary() { return at_.front().record->checkpoint; }

  std::vector<ProcessOnCard> at_;
};

// Runs the body with the process, if the driver supports checkpoints.
template <typename Body>
CUresult withTarget(int pid, Body&& body) {
  const Runtime& runtime = Runtime::get();
  if (runtime.driverVersion() < kFirstDriver || runtime.machine().answersAtOnce()) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  std::optional<CheckpointTarget> target = pid > 0 ? CheckpointTarget::find(pid) : std::nullopt;
  return target ? body(*target) : CUDA_ERROR_INVALID_VALUE;
}

// The time of a copy of everything, and the delay of SIMGPU_FAULTS.
void spendCopy(CheckpointTarget& target) {
  waitUntil(clockNow() + target.copyTime() + cardDuration(Faults::get().checkpointDelay()));
}

}  // namespace

CUresult stateOf(int pid, CUprocessState* out) {
  return withTarget(pid, [&](CheckpointTarget& target) {
    const std::optional<std::uint32_t> state = target.state();
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    *out = *state == kStateLocking ? CU_PROCESS_STATE_RUNNING : static_cast<CUprocessState>(*state);
    return CUDA_SUCCESS;
  });
}

CUresult lockProcess(int pid, unsigned timeout_ms) {
  return withTarget(pid, [&](CheckpointTarget& target) {
    const Nanos limit = clockNow() + cardDuration(std::uint64_t{timeout_ms} * 1'000'000);
    const CUresult begun = target.move(CU_PROCESS_STATE_RUNNING, kStateLocking);
    if (begun != CUDA_SUCCESS) return begun;
    while (!target.drained()) {
      if (!target.state()) return CUDA_ERROR_INVALID_VALUE;
      if (timeout_ms != 0 && clockNow() >= limit) {
        const CUresult back = target.move(kStateLocking, CU_PROCESS_STATE_RUNNING);
        return back == CUDA_SUCCESS ? CUDA_ERROR_NOT_READY : back;
      }
      waitUntil(clockNow() + cardDuration(kPause));
    }
    return target.move(kStateLocking, CU_PROCESS_STATE_LOCKED);
  });
}

CUresult checkpointProcess(int pid) {
  return withTarget(pid, [&](CheckpointTarget& target) {
    const CUresult begun = target.move(CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_CHECKPOINTING);
    if (begun != CUDA_SUCCESS) return begun;
    if (target.holdsForeign()) {
      target.move(CU_PROCESS_STATE_CHECKPOINTING, CU_PROCESS_STATE_LOCKED);
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    spendCopy(target);
    if (Faults::get().checkpointFails()) {
      target.move(CU_PROCESS_STATE_CHECKPOINTING, CU_PROCESS_STATE_FAILED);
      return CUDA_ERROR_OPERATING_SYSTEM;
    }
    target.save();
    return target.move(CU_PROCESS_STATE_CHECKPOINTING, CU_PROCESS_STATE_CHECKPOINTED);
  });
}

CUresult restoreProcess(int pid) {
  return withTarget(pid, [&](CheckpointTarget& target) {
    const CUresult begun = target.move(CU_PROCESS_STATE_CHECKPOINTED, CU_PROCESS_STATE_RESTORING);
    if (begun != CUDA_SUCCESS) return begun;
    const bool hopeless = target.poisoned();
    if (!hopeless && target.restore()) {
      spendCopy(target);
      return target.move(CU_PROCESS_STATE_RESTORING, CU_PROCESS_STATE_LOCKED);
    }
    target.poison();
    const CUresult back = target.move(CU_PROCESS_STATE_RESTORING, CU_PROCESS_STATE_CHECKPOINTED);
    if (back != CUDA_SUCCESS) return back;
    return hopeless ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

CUresult unlockProcess(int pid) {
  return withTarget(pid, [](CheckpointTarget& target) {
    return target.move(CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_RUNNING);
  });
}

}  // namespace divvy::simgpu
