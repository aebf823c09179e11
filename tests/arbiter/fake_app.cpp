#include "fake_app.h"

#include "clock.h"

namespace divvy::arbiter::testing {

using ledger::GateState;

FakeApp::FakeApp(std::vector<FakeTenant*> tenants) : actors_(tenants.size()) {
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    actors_[i].tenant = tenants[i];
    tenants[i]->setState(ledger::kWorkWaiting);
  }
  thread_ = std::thread([this] {
    while (!stop_) {
      unsigned running = 0;
      for (Actor& actor : actors_) {
        act(actor);
        running += actor.running ? 1 : 0;
      }
      if (running > 1) ++clashes_;
      pause();
    }
  });
}

FakeApp::~FakeApp() {
  stop_ = true;
  thread_.join();
  for (Actor& actor : actors_) actor.tenant->setState(0);
}

void FakeApp::act(Actor& actor) {
  FakeTenant& tenant = *actor.tenant;
  const GateState gate = tenant.gate();
  const Nanos now = clockNow();
  if (actor.running) {
    tenant.addBusy(now - actor.began);
    actor.began = now;
  }
  if (gate == GateState::kRun && !actor.running) {
    actor.running = true;
    actor.began = now;
    ++actor.turns;
    tenant.launched();
    tenant.setState(ledger::kWorkInFlight);
  } else if (gate != GateState::kRun && actor.running) {
    actor.running = false;
    tenant.setState(ledger::kWorkWaiting);
    tenant.drained();
  } else if (gate == GateState::kHold && tenant.seq() != actor.seq) {
    tenant.drained();
  }
  actor.seq = tenant.seq();
}

}  // namespace divvy::arbiter::testing
