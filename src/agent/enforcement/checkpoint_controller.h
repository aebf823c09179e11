// Tenants that have to leave with what cannot be swapped, and come back: what the arbiter wants,
// carried out by the driver's checkpoints (checkpoint/checkpoint_scheduler.h says how,
// checkpoint/checkpoint_worker.h by whom). On the agent's one thread; waits for no driver but for
// the room on a card.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "checkpoint/checkpoint_scheduler.h"
#include "checkpoint/checkpoint_worker.h"
#include "tenant/tenant_manager.h"

namespace divvy::agent {

class CheckpointController {
 public:
  // Off, nobody is taken away, and whom an earlier agent took is brought back.
  CheckpointController(asio::io_context& loop, TenantManager& tenants, const Inventory& inventory,
                       std::string executable, bool on);

  // From when those that live on are known until the loop ends.
  void begin();

 private:
  struct Known {
    std::shared_ptr<CheckpointWorker> helper;
    std::optional<CheckpointTime> asked;  // since when it has been to leave
    std::set<int> killed;
  };

  void tick();
  void follow();
  void follow(const TenantPtr& tenant, CheckpointTime now);
  Ineligibility barFor(const Tenant& tenant, CheckpointTime now) const;
  // Some device of it is promised more than once.
  bool ruled(const Tenant& tenant) const;
  CheckpointRequest wishFor(const TenantPtr& tenant, CheckpointTime now);
  // Writes down, and tells the arbiter, how far it is.
  void note(const TenantPtr& tenant, CheckpointTime now);
  void killDoomed(Tenant& tenant, CheckpointStatus& status);
  void serve();
  asio::awaitable<void> make(std::string id, CheckpointStep step);
  bool hasRoom(const Tenant& tenant) const;

  asio::io_context& loop_;
  TenantManager& tenants_;
  const Inventory& inventory_;
  const std::string executable_;
  const bool on_;
  const unsigned driver_;
  asio::steady_timer timer_;
  CheckpointScheduler board_;
  std::map<std::string, Known> known_;
  Bytes host_available_;
};

}  // namespace divvy::agent
