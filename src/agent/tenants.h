// The living tenants: made, watched, changed and buried here. Everything on the agent's one thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/placement.h"
#include "agent/wire.h"
#include "asio.h"
#include "inventory.h"
#include "ledger/tenant_ledger.h"
#include "tenant_record.h"

namespace divvy::agent {

// One process that keeps a tenant alive, watched through its pidfd.
struct Watched {
  ProcessId id;
  std::unique_ptr<asio::posix::stream_descriptor> exit;
};

struct SlotKey {
  unsigned slot = 0;
  std::uint64_t generation = 0;
  friend auto operator<=>(const SlotKey&, const SlotKey&) = default;
};

struct Tenant {
  explicit Tenant(asio::io_context& loop) : recheck(loop), ended(loop) {
    ended.expires_at(asio::steady_timer::time_point::max());
  }

  TenantRecord record;
  std::string dir;
  std::optional<ledger::TenantLedger> pages;  // none: broken, see `broken`
  std::string broken;
  std::map<SlotKey, Watched> processes;  // that registered: they use the device
  std::map<int, Watched> survivors;      // that carry the tenant's directory, by PID
  std::optional<Watched> holder;         // the `divvy run`, while it lives
  bool said_ended = false;               // the holder saw its whole tree end
  unsigned empty_scans = 0;
  asio::steady_timer recheck;
  asio::steady_timer ended;  // cancelled when the tenant is gone
};

using TenantPtr = std::shared_ptr<Tenant>;

class Tenants {
 public:
  // `changed` runs after a tenant ended or a share changed: queued requests may fit now.
  Tenants(asio::io_context& loop, NodePaths paths, const Inventory& inventory,
          std::function<void()> changed);

  // Takes over what an earlier agent left in the runtime directory. Directories that cannot be
  // understood are kept as long as a process lives in them, then removed. An
  // error when the directories cannot be listed: nothing is known then, and nothing was touched.
  Result<void> adoptAll();

  // Makes the share's directory; the holder is watched from here on. Leaves nothing behind on
  // error.
  Result<TenantPtr> create(const RunRequest& request, const Decision& decision, ProcessId holder);

  // The holder's tree has ended.
  void end(const TenantPtr& tenant);
  // Keeps `id` of this slot in view. `pidfd` may be invalid: then one is opened.
  void watchProcess(const TenantPtr& tenant, const SlotKey& key, ProcessId id, Fd pidfd);
  // Finds processes that could not register, and makes room for more.
  void sweep();

  // New limits; checks room on the cards. Errors say what is accepted.
  Result<void> change(const TenantPtr& tenant, const SetRequest& request);
  // Ends the processes of all tenants: SIGTERM, or SIGKILL.
  void signalAll(int signal);

  // The share this process holds and has not started its command in: its answer got lost with an
  // earlier agent.
  TenantPtr unstartedOf(const ProcessId& holder) const;
  // By id or name.
  TenantPtr find(const std::string& id_or_name) const;
  const std::map<std::string, TenantPtr>& all() const { return tenants_; }
  // The cards as placement sees them now.
  std::vector<Card> cards() const;

 private:
  void adopt(const std::string& id);
  void watch(Watched& watched, Fd pidfd, std::function<void()> on_exit);
  void watchHolder(const TenantPtr& tenant);
  bool watchSurvivors(const TenantPtr& tenant);
  void findAndWatch(const TenantPtr& tenant, const SlotKey& key, const ledger::Owner& owner);
  void reap(const TenantPtr& tenant, const SlotKey& key);
  // Buries the tenant if nothing keeps it alive.
  void check(const TenantPtr& tenant);
  void bury(const TenantPtr& tenant);
  std::string freshId() const;

  asio::io_context& loop_;
  NodePaths paths_;
  const Inventory& inventory_;
  std::function<void()> changed_;
  std::map<std::string, TenantPtr> tenants_;
};

// What the tenant uses of a device, as its ledger says (validated); contexts that are counted
// outside the share are told apart.
struct TenantUse {
  Bytes inside;
  Bytes outside;
};
std::map<std::string, TenantUse> useOf(const Tenant& tenant);

}  // namespace divvy::agent
