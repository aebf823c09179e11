// Checkpoints and restores tenants with unswappable memory, as the arbiter requests it.
// checkpoint/checkpoint_scheduler.h decides the order, checkpoint/checkpoint_worker.h makes the
// calls. On the agent's one thread. Blocks only for the driver's query of free memory.
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
  // `on` false: no tenant is checkpointed, and tenants that an earlier agent checkpointed are
  // restored.
  CheckpointController(asio::io_context& loop, TenantManager& tenants, const Inventory& inventory,
                       std::string executable, bool on);

  // Must be called once, when recovered tenants are known.
  void begin();

 private:
  struct Known {
    std::shared_ptr<CheckpointWorker> helper;
    std::optional<CheckpointTime> asked;  // since when its checkpoint is requested
    std::set<int> killed;
  };

  void tick();
  void follow();
  void follow(const TenantPtr& tenant, CheckpointTime now);
  Ineligibility barFor(const Tenant& tenant, CheckpointTime now) const;
  // Returns true if a device of the tenant is overcommitted.
  bool ruled(const Tenant& tenant) const;
  CheckpointRequest wishFor(const TenantPtr& tenant, CheckpointTime now);
  // Stores the tenant's phase and reports it to the arbiter.
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
