// Processes that behave as the interposer makes them: they use the device for as long as they may,
// and wait otherwise.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "fake_tenant.h"

namespace divvy::arbiter::testing {

// One thread plays one process (slot 0) of each tenant. Ends with it.
class FakeApp {
 public:
  explicit FakeApp(std::vector<FakeTenant*> tenants);
  ~FakeApp();

  // Grants that the tenant was seen to use.
  unsigned turns(std::size_t tenant) const { return actors_[tenant].turns; }
  // Pairs of tenants that were told to run at the same time: exclusive grants leave none.
  unsigned clashes() const { return clashes_; }

 private:
  struct Actor {
    FakeTenant* tenant = nullptr;
    std::uint64_t seq = 0;
    bool running = false;
    Nanos began = 0;
    std::atomic<unsigned> turns{0};
  };

  void act(Actor& actor);

  std::vector<Actor> actors_;
  std::atomic<unsigned> clashes_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace divvy::arbiter::testing
