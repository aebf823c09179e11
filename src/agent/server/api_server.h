// agent.sock: one coroutine per connection, one JSON object per line.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/protocol.h"
#include "device/inventory.h"
#include "enforcement/timeslice_probe.h"
#include "events/event_log.h"
#include "idle/idle_reaper.h"
#include "os/asio.h"
#include "placement/wait_queue.h"
#include "server/placement_history.h"
#include "tenant/tenant_manager.h"
#include "tenant_registration/container_registration.h"

namespace divvy::agent {

using Socket = asio::local::stream_protocol::socket;

// Everything runs on the loop's one thread.
class ApiServer {
 public:
  // `stop` ends the agent; it is called when no tenant is left.
  ApiServer(asio::io_context& loop, const Node& node, const PlacementOptions& placing,
            TenantManager& tenants, const Inventory& inventory, TimesliceProbe& trial,
            const EventLog& events, const IdleReaper& idle, ContainerRegistration& door,
            std::function<void()> stop);

  // Binds `path` and listens. Replaces a socket that an earlier agent left.
  Result<void> listen(const std::string& path);

  // Sets the source of Snapshot::loop_late_ms in lists.
  void setLatenessSource(std::function<std::int64_t()> late) { loop_late_ = std::move(late); }

  // The present state.
  Snapshot snapshot() const;
  // Tries the queued requests again: they may fit now.
  void wakeQueue();
  // No connection is open and no request waits.
  bool idle() const { return sessions_ == 0; }
  // Serves connections that were not accepted yet. Returns true if there was any.
  bool acceptPending();

 private:
  struct Session {
    explicit Session(Socket connected) : socket(std::move(connected)) {}
    Socket socket;
    std::string buffer;
    int peer = 0;
    std::string user;
  };
  using SessionPtr = std::shared_ptr<Session>;

  std::function<std::int64_t()> loop_late_;

  asio::awaitable<void> acceptLoop();
  void start(Socket socket);
  asio::awaitable<void> talk(SessionPtr session);
  asio::awaitable<Reply> handle(SessionPtr session, Request request);
  asio::awaitable<Reply> run(SessionPtr session, RunRequest request);
  asio::awaitable<Reply> waitFor(SessionPtr session, WaitRequest request);
  asio::awaitable<Reply> stopAgent(StopRequest request);
  // Waits for the timer. Returns false if the peer hung up meanwhile.
  asio::awaitable<bool> waitConnected(SessionPtr session, asio::steady_timer& timer);
  asio::awaitable<void> send(SessionPtr session, const Reply& reply);

  // A decision and its input.
  struct PlacementDecision {
    PlacementInput input;
    Decision decision;
  };
  PlacementDecision decide(const RunRequest& request) const;
  // Adds to the history. `id`: the tenant's ID, or the request's while it waits.
  void record(const RunRequest& request, const PlacementDecision& decided,
              snapshot::RequestOutcome outcome, const std::string& id);
  Result<Enforcement> choose(const RunRequest& request) const;
  // An error: a container cannot get its mounts or devices.
  Result<GrantedReply> granted(const Tenant& tenant, const RunRequest& request);
  Reply grant(const RunRequest& request, const PlacementDecision& decided, int peer);
  Reply refuse(const RunRequest& request, const Decision& decision, int peer) const;
  Reply started(const StartedRequest& request, int peer);
  Reply ended(const EndRequest& request, int peer);
  // Writes the share's CDI file, when its mounts are known.
  Result<void> enlist(Tenant& tenant, const RunRequest& request, const ContainerEdits& edits);
  Reply released(const ReleaseRequest& request);
  Reply set(const SetRequest& request, const std::string& by);
  Reply explained(ExplainRequest request) const;
  Reply happened(const EventsRequest& request) const;

  asio::io_context& loop_;
  Node node_;
  const PlacementOptions placing_;
  TenantManager& tenants_;
  const Inventory& inventory_;
  TimesliceProbe& trial_;
  const EventLog& events_;
  const IdleReaper& idle_;
  ContainerRegistration& door_;
  std::function<void()> stop_;
  asio::local::stream_protocol::acceptor acceptor_;
  WaitQueue queue_;
  PlacementHistory record_;
  asio::steady_timer room_;  // cancelled to try queued requests again
  unsigned sessions_ = 0;
};

// The whole state for display.
Snapshot takeSnapshot(const Node& node, const PlacementOptions& placing,
                      const TenantManager& tenants, const Inventory& inventory,
                      const WaitQueue& queue, const IdleReaper& idle);
// The part of the state that events are derived from: cheap enough for every second.
Snapshot takeMemorySnapshot(const TenantManager& tenants, const Inventory& inventory);
// One tenant of it. Its pages must be readable.
TenantView takeMemoryView(const Tenant& tenant, const TenantManager& tenants,
                          const Inventory& inventory);

}  // namespace divvy::agent
