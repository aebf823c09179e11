// Checkpoints of several tenants under any course of failures: never two on a card at a time, never
// a restore that nothing is booked for, never one forgotten.
#include "checkpoint/checkpoint_scheduler.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace divvy::agent {
namespace {

using namespace std::chrono_literals;
using Answer = CheckpointAnswer;
using Call = CheckpointCall;
using Phase = CheckpointPhase;
using State = DriverState;

// The driver's truth, tenants as the agent keeps them, and the book of whose memory is whose.
class World {
 public:
  explicit World(unsigned tenants) {
    for (unsigned i = 0; i < tenants; ++i) {
      Tenant tenant;
      tenant.devices = {*rc::gen::inRange(0u, 2u)};
      if (*rc::gen::inRange(0, 3) == 0) tenant.devices = {0, 1};
      const int processes = *rc::gen::inRange(1, 4);
      for (int p = 0; p < processes; ++p)
        tenant.processes[static_cast<int>(10 * (i + 1)) + p] = State::kRunning;
      tenants_["t" + std::to_string(i)] = tenant;
    }
    recover();
  }

  void step() {
    const auto random = std::next(tenants_.begin(), *rc::gen::inRange<long>(0, size()));
    Tenant& tenant = random->second;
    switch (*rc::gen::inRange(0, 8)) {
      case 0:
        tenant.leave = !tenant.leave;
        break;
      case 1:
        reserve(tenant, random->first);
        break;
      case 2:
        if (tenant.processes.size() > 1 && *rc::gen::inRange(0, 6) == 0) kill(random->first);
        break;
      case 3:
        if (*rc::gen::inRange(0, 6) == 0) recover();
        break;
      default:
        now_ += CheckpointTime(*rc::gen::inRange(1, 3000));
        serve(true);
        break;
    }
    check();
  }

  // Nothing fails any more, and everybody may come back.
  void end() {
    for (int round = 0; round < 400 && !quiet(); ++round) {
      for (auto& [id, tenant] : tenants_) {
        tenant.leave = false;
        reserve(tenant, id);
      }
      now_ += 5s;
      serve(false);
      check();
    }
    for (auto& [id, tenant] : tenants_) {
      RC_ASSERT(board_.course(id).phase() == Phase::kHere);
      for (const auto& [pid, state] : tenant.processes) RC_ASSERT(state == State::kRunning);
    }
  }

 private:
  struct Tenant {
    std::vector<unsigned> devices;
    std::map<int, State> processes;
    std::set<int> poisoned;
    bool leave = false;
    bool booked = true;
    Phase recorded = Phase::kHere;
  };

  long size() const { return static_cast<long>(tenants_.size()); }

  // An agent that knows what was recorded.
  void recover() {
    board_ = CheckpointScheduler();
    under_way_.clear();
    for (auto& [id, tenant] : tenants_) board_.add(id, tenant.devices, tenant.recorded);
    for (auto& [id, tenant] : tenants_) tellProcesses(id);
  }
  void tellProcesses(const std::string& id) {
    std::vector<int> pids;
    for (const auto& [pid, state] : tenants_[id].processes) pids.push_back(pid);
    board_.setProcesses(id, pids);
    note(id);
  }
  void kill(const std::string& id) {
    Tenant& tenant = tenants_[id];
    if (!tenant.processes.empty()) tenant.processes.erase(tenant.processes.begin());
    tellProcesses(id);
  }
  void reserve(Tenant& tenant, const std::string& id) {
    if (board_.course(id).phase() == Phase::kAway && now_ >= board_.course(id).postponedUntil())
      tenant.booked = true;
  }
  // What the record says is written before others may have its memory.
  void note(const std::string& id) {
    Tenant& tenant = tenants_[id];
    const Phase phase = board_.course(id).phase();
    if (phase == Phase::kAway && tenant.recorded != Phase::kAway) tenant.booked = false;
    if (phase != Phase::kAway) RC_ASSERT(tenant.booked);
    tenant.recorded = phase;
  }

  void serve(bool faults) {
    for (auto& [id, tenant] : tenants_)
      board_.wish(id, {tenant.leave, tenant.booked && tenant.recorded == Phase::kAway});
    for (const CheckpointScheduler::Due& due : board_.due(now_)) under_way_.push_back(due);
    for (auto& [id, tenant] : tenants_) note(id);
    check();
    while (!under_way_.empty()) {
      if (faults && *rc::gen::inRange(0, 4) == 0) return;  // it takes a while
      const CheckpointScheduler::Due due = under_way_.back();
      under_way_.pop_back();
      const Answer answer = obey(due, faults);
      const auto& processes = tenants_[due.tenant].processes;
      const auto process = processes.find(due.step.pid);
      board_.answered(due.tenant, answer,
                      process == processes.end() ? State::kUnknown : process->second, now_);
      note(due.tenant);
      for (const auto& doomed : std::vector(board_.course(due.tenant).doomed())) {
        tenants_[due.tenant].processes.erase(doomed.pid);
        tellProcesses(due.tenant);
      }
    }
  }

  Answer obey(const CheckpointScheduler::Due& due, bool faults) {
    Tenant& tenant = tenants_[due.tenant];
    const auto process = tenant.processes.find(due.step.pid);
    if (process == tenant.processes.end()) return Answer::kGone;
    State& state = process->second;
    const int fault = faults ? *rc::gen::inRange(0, 12) : 99;
    if (fault == 0) return Answer::kRefused;
    switch (due.step.call) {
      case Call::kState:
        return Answer::kDone;
      case Call::kLock:
        if (state != State::kRunning) return Answer::kRefused;
        if (fault == 1) return Answer::kNotReady;
        state = State::kLocked;
        // The answer is lost, the deed is done.
        return fault == 2 ? Answer::kSilent : Answer::kDone;
      case Call::kCheckpoint:
        if (state != State::kLocked) return Answer::kRefused;
        state = fault == 1 ? State::kFailed : State::kAway;
        return fault == 1 ? Answer::kLost : Answer::kDone;
      case Call::kRestore:
        RC_ASSERT(tenant.booked);
        if (state != State::kAway) return Answer::kRefused;
        if (fault == 1) return Answer::kNoMemory;
        if (fault == 2 || fault == 3) return Answer::kNoRoom;
        state = State::kLocked;
        return Answer::kDone;
      case Call::kUnlock:
        if (state != State::kLocked) return Answer::kRefused;
        state = State::kRunning;
        return fault == 1 ? Answer::kSilent : Answer::kDone;
    }
    return Answer::kRefused;
  }

  void check() {
    std::map<unsigned, unsigned> calls;
    for (const CheckpointScheduler::Due& due : under_way_)
      for (const unsigned device : tenants_[due.tenant].devices) ++calls[device];
    for (const auto& [device, count] : calls) RC_ASSERT(count <= 1u);
    for (const auto& [id, tenant] : tenants_) {
      const CheckpointStateMachine& course = board_.course(id);
      const bool locked =
          std::any_of(tenant.processes.begin(), tenant.processes.end(),
                      [](const auto& process) { return process.second == State::kLocked; });
      const bool away =
          std::any_of(tenant.processes.begin(), tenant.processes.end(),
                      [](const auto& process) { return process.second == State::kAway; });
      // Whoever does not run is on his way, or known to be away.
      if (locked) RC_ASSERT(!course.resting());
      if (away) RC_ASSERT(course.phase() != Phase::kHere);
    }
  }

  bool quiet() const {
    return std::all_of(tenants_.begin(), tenants_.end(), [&](const auto& entry) {
      return board_.course(entry.first).phase() == Phase::kHere;
    });
  }

  CheckpointScheduler board_;
  std::map<std::string, Tenant> tenants_;
  std::vector<CheckpointScheduler::Due> under_way_;
  CheckpointTime now_ = 1000s;
};

RC_GTEST_PROP(CheckpointScheduler, RandomFailures_OneCallPerDeviceAllReturn, ()) {
  World world(*rc::gen::inRange(1u, 5u));
  const int events = *rc::gen::inRange(1, 200);
  for (int i = 0; i < events; ++i) world.step();
  world.end();
}

TEST(CheckpointScheduler, RemovedDuringCall_DeviceBusyUntilAnswer) {
  CheckpointScheduler board;
  for (const char* id : {"a", "b"}) {
    board.add(id, {0}, Phase::kHere);
    board.setProcesses(id, {id[0]});
    board.wish(id, {true, false});
  }
  ASSERT_EQ(board.due(1s).size(), 1u);
  board.remove("a");
  EXPECT_FALSE(board.has("a"));
  EXPECT_TRUE(board.due(2s).empty());
  board.answered("a", Answer::kGone, State::kUnknown, 2s);
  const auto due = board.due(2s);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].tenant, "b");
}

}  // namespace
}  // namespace divvy::agent
