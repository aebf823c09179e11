#include "server/api_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>

#include "base/processes.h"
#include "container/cdi_spec.h"
#include "enforcement/backends.h"
#include "log/log.h"
#include "tenant/tenant_events.h"

namespace divvy::agent {
namespace {

using asio::steady_timer;
using namespace asio::experimental::awaitable_operators;

constexpr int kBacklog = 1024;
constexpr unsigned kMaxSessions = 4096;
// No event reports memory that other programs free, so queued requests are tried again this often.
constexpr std::chrono::seconds kLookAgain{1};
// Time of a tenant between SIGTERM and SIGKILL when the agent is stopped by force.
constexpr std::chrono::seconds kGrace{5};

FailedReply failed(const Error& error) {
  return {error.code(), error.message(), {}};
}

// A peer that sends data while it should wait is treated as one that disconnected.
bool hungUp(int fd) {
  char byte = 0;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

}  // namespace

ApiServer::ApiServer(asio::io_context& loop, const Node& node, const PlacementOptions& placing,
                     TenantManager& tenants, const Inventory& inventory, TimesliceProbe& trial,
                     const EventLog& events, const IdleReaper& idle, ContainerRegistration& door,
                     std::function<void()> stop)
    : loop_(loop),
      node_(node),
      placing_(placing),
      tenants_(tenants),
      inventory_(inventory),
      trial_(trial),
      events_(events),
      idle_(idle),
      door_(door),
      stop_(std::move(stop)),
      acceptor_(loop),
      record_(node.name, placing_),
      room_(loop) {
  room_.expires_at(steady_timer::time_point::max());
}

Result<void> ApiServer::listen(const std::string& path) {
  unlink(path.c_str());
  error_code fault;
  const asio::local::stream_protocol::endpoint endpoint(path);
  acceptor_.open(endpoint.protocol(), fault);
  if (!fault) acceptor_.bind(endpoint, fault);
  if (!fault) acceptor_.listen(kBacklog, fault);
  if (fault) return Error{ErrorCode::kIo, "listening on " + path + ": " + fault.message()};
  asio::co_spawn(loop_, acceptLoop(), asio::detached);
  return {};
}

asio::awaitable<void> ApiServer::acceptLoop() {
  for (;;) {
    auto [fault, socket] = co_await acceptor_.async_accept(kNoThrow);
    if (fault == asio::error::operation_aborted) co_return;
    if (fault) {
      // Out of descriptors: sessions that end free some.
      steady_timer pause(loop_, std::chrono::milliseconds(100));
      co_await pause.async_wait(kNoThrow);
      continue;
    }
    start(std::move(socket));
  }
}

bool ApiServer::acceptPending() {
  error_code fault;
  acceptor_.non_blocking(true, fault);
  bool any = false;
  for (;;) {
    Socket socket(loop_);
    acceptor_.accept(socket, fault);
    if (fault) return any;
    any = true;
    start(std::move(socket));
  }
}

void ApiServer::start(Socket socket) {
  const Result<Peer> peer = processes().peer(socket.native_handle());
  const bool allowed = peer && (peer->uid == geteuid() || peer->uid == 0);
  if (!allowed || sessions_ >= kMaxSessions) return;
  auto session = std::make_shared<Session>(std::move(socket));
  session->peer = peer->pid;
  session->user = userName(peer->uid);
  asio::co_spawn(loop_, talk(std::move(session)), asio::detached);
}

asio::awaitable<void> ApiServer::send(SessionPtr session, const Reply& reply) {
  const std::string line = encode(reply);
  co_await asio::async_write(session->socket, asio::buffer(line), kNoThrow);
}

asio::awaitable<void> ApiServer::talk(SessionPtr session) {
  ++sessions_;
  for (;;) {
    auto [fault, size] = co_await asio::async_read_until(
        session->socket, asio::dynamic_buffer(session->buffer, kMaxLine), '\n', kNoThrow);
    if (fault) break;
    const std::string line = session->buffer.substr(0, size);
    session->buffer.erase(0, size);
    Result<Request> request = decodeRequest(line);
    if (!request) {
      const Reply reply = failed(request.error());
      co_await send(session, reply);
      break;
    }
    const Reply reply = co_await handle(session, std::move(*request));
    co_await send(session, reply);
  }
  --sessions_;
}

asio::awaitable<Reply> ApiServer::handle(SessionPtr session, Request request) {
  if (auto* run_request = std::get_if<RunRequest>(&request)) {
    run_request->ask.user = session->user;
    co_return co_await run(session, std::move(*run_request));
  }
  if (auto* explain_request = std::get_if<ExplainRequest>(&request)) {
    explain_request->run.ask.user = session->user;
    if (explain_request->run.enforce == Enforce::kTimeslice) co_await trial_.settle();
    co_return explained(std::move(*explain_request));
  }
  if (auto* wait = std::get_if<WaitRequest>(&request))
    co_return co_await waitFor(session, std::move(*wait));
  if (auto* events = std::get_if<EventsRequest>(&request)) co_return happened(*events);
  if (auto* stop = std::get_if<StopRequest>(&request)) co_return co_await stopAgent(*stop);
  if (auto* change = std::get_if<SetRequest>(&request))
    co_return set(*change, processWord(session->peer, session->user));
  if (auto* start_note = std::get_if<StartedRequest>(&request))
    co_return started(*start_note, session->peer);
  if (auto* release = std::get_if<ReleaseRequest>(&request)) co_return released(*release);
  if (auto* end = std::get_if<EndRequest>(&request)) co_return ended(*end, session->peer);
  if (std::get_if<ListRequest>(&request) != nullptr) {
    SnapshotReply reply{snapshot()};
    if (loop_late_) reply.snapshot.loop_late_ms = loop_late_();
    co_return reply;
  }
  if (std::get_if<PlacementRequest>(&request) != nullptr)
    co_return PlacementReply{snapshot::write(record_.snapshot(tenants_, queue_))};
  co_return DoneReply{};
}

Snapshot ApiServer::snapshot() const {
  return takeSnapshot(node_, placing_, tenants_, inventory_, queue_, idle_);
}

asio::awaitable<bool> ApiServer::waitConnected(SessionPtr session, steady_timer& timer) {
  co_await (timer.async_wait(kNoThrow) || session->socket.async_wait(Socket::wait_read, kNoThrow));
  co_return !hungUp(session->socket.native_handle());
}

asio::awaitable<Reply> ApiServer::run(SessionPtr session, RunRequest request) {
  // Tenants that are not in a container are identified by the environment of their processes.
  if (!processes().direct())
    co_return failed({ErrorCode::kUnsupported,
                      "this agent runs with a helper: it serves containers of its kubelet only"});
  const TenantPtr lost = tenants_.table().unstartedOf({session->peer, request.start_time});
  if (lost != nullptr) {
    const Result<GrantedReply> again = granted(*lost, request);
    if (again) co_return *again;
    co_return failed(again.error());
  }
  if (request.contained && request.enforce == Enforce::kAuto)
    request.enforce = Enforce::kInterposer;
  if (request.enforce == Enforce::kTimeslice) co_await trial_.settle();
  const Result<Enforcement> enforcement = choose(request);
  if (!enforcement) co_return failed(enforcement.error());
  // Only tenants behind the arbiter's gate are swapped.
  request.ask.unswappable = !arbiterGates(enforcement->backend);
  PlacementDecision decided = decide(request);
  Decision& decision = decided.decision;
  // A request that may wait does not overtake queued ones; a request that may not wait takes free
  // capacity.
  if (decision.fits() && (!request.wait || queue_.empty()))
    co_return grant(request, decided, session->peer);
  if (!request.wait || decision.impossible) {
    record(request, decided, snapshot::RequestOutcome::kRefused, record_.newId());
    co_return refuse(request, decision, session->peer);
  }
  const std::string id = record_.newId();
  record(request, decided, snapshot::RequestOutcome::kQueued, id);
  const std::uint64_t ticket = queue_.join({0, request.priority, session->peer, request.name,
                                            request.ask, decision.summary, id, wallMs()});
  QueuedReply queued{queue_.position(ticket), explain(decision)};
  co_await send(session, Reply(std::move(queued)));
  const auto end = request.wait_ms == 0 ? steady_timer::time_point::max()
                                        : steady_timer::clock_type::now() +
                                              std::chrono::milliseconds(request.wait_ms);
  bool connected = true;
  bool placed = false;
  while (connected && !placed && steady_timer::clock_type::now() < end) {
    steady_timer timer(loop_);
    timer.expires_at(std::min(end, steady_timer::clock_type::now() + kLookAgain));
    co_await (room_.async_wait(kNoThrow) || waitConnected(session, timer));
    connected = !hungUp(session->socket.native_handle());
    if (!queue_.isHead(ticket)) continue;
    decided = decide(request);
    placed = decision.fits();
    queue_.setReason(ticket, decision.summary);
  }
  queue_.leave(ticket);
  Reply reply = placed && connected ? grant(request, decided, session->peer)
                                    : refuse(request, decision, session->peer);
  wakeQueue();
  co_return reply;
}

ApiServer::PlacementDecision ApiServer::decide(const RunRequest& request) const {
  PlacementDecision decided{tenants_.capacity().placementInput(nullptr, request.priority), {}};
  decided.decision =
      place(request.ask, decided.input.cards, tenants_.memory().host_reserve, placing_);
  return decided;
}

void ApiServer::record(const RunRequest& request, const PlacementDecision& decided,
                       snapshot::RequestOutcome outcome, const std::string& id) {
  record_.decided(decided.input, tenants_.memory().host_reserve, request, decided.decision, outcome,
                  id);
}

Result<Enforcement> ApiServer::choose(const RunRequest& request) const {
  return chooseEnforcement(enforcementAsk(request), enforcementOffer(request, node_, trial_));
}

Result<GrantedReply> ApiServer::granted(const Tenant& tenant, const RunRequest& request) {
  GrantedReply reply{tenant.record.id, tenant.dir, {}, {}, {}, {}};
  if (tenant.record.contained) {
    if (const Result<void> open = door_.open(); !open) return open.error();
    Result<ContainerEdits> edits = door_.editsOf(tenant);
    if (!edits) return edits.error();
    reply.edits = std::move(*edits);
  }
  reply.environment = environmentFor(tenant.record.backend, enforcementAsk(request),
                                     enforcementOffer(request, node_, trial_));
  for (const ShareRecord& share : tenant.record.shares) reply.devices.push_back(share.uuid);
  return reply;
}

Reply ApiServer::grant(const RunRequest& request, const PlacementDecision& decided, int peer) {
  const Decision& decision = decided.decision;
  const TenantPtr namesake = request.name.empty() ? nullptr : tenants_.find(request.name);
  if (namesake != nullptr) {
    return failed({ErrorCode::kUsage, "name \"" + request.name + "\" belongs to tenant " +
                                          namesake->record.id +
                                          "; accepted: a name that no running tenant has"});
  }
  const ProcessId holder{peer, startTimeOf(peer)};
  if (holder.start_time == 0 || holder.start_time != request.start_time) {
    return failed({ErrorCode::kUnavailable, "the requesting process has ended"});
  }
  const Result<Enforcement> enforcement = choose(request);
  if (!enforcement) return failed(enforcement.error());
  if (request.contained && enforcement->backend != Backend::kInterposer)
    return failed({ErrorCode::kUsage, "--enforce " + std::string(enforceName(request.enforce)) +
                                          " is not for containers; accepted: interposer"});
  std::vector<std::string> notes = coresNotes(decision.shares, tenants_.capacity().cards());
  if (!enforcement->reason.empty()) notes.push_back(enforcement->reason);
  const bool swapped =
      std::any_of(decision.shares.begin(), decision.shares.end(),
                  [](const PlacedShare& share) { return share.guarantee < share.limit; });
  if (request.ask.guaranteed && !swapped)
    notes.emplace_back("all of its memory is guaranteed and never swapped");
  Result<TenantPtr> tenant = tenants_.create(request, decision, enforcement->backend, holder);
  if (!tenant) {
    log::warn("cannot create a share", {{"error", tenant.error().message()}});
    return failed(tenant.error());
  }
  Result<GrantedReply> reply = granted(**tenant, request);
  Result<void> good = reply ? enlist(**tenant, request, reply->edits) : reply.error();
  if (!good) {
    tenants_.end(*tenant);
    return failed(good.error());
  }
  record(request, decided, snapshot::RequestOutcome::kPlaced, (*tenant)->record.id);
  reply->notes = std::move(notes);
  return std::move(*reply);
}

Result<void> ApiServer::enlist(Tenant& tenant, const RunRequest& request,
                               const ContainerEdits& edits) {
  if (request.cdi_dir.empty()) return {};
  if (Result<void> named = checkCdiName(request.name); !named) return named;
  // Recorded first: an agent that takes the tenant over must remove the file with it.
  tenant.record.cdi_file = cdiFileOf(request.cdi_dir, request.name);
  if (Result<void> saved = saveRecord(tenant.dir, tenant.record); !saved) return saved;
  return writeCdi(tenant.record.cdi_file, request.name, edits);
}

Reply ApiServer::released(const ReleaseRequest& request) {
  const TenantPtr tenant = tenants_.find(request.tenant);
  if (tenant == nullptr) return failed({ErrorCode::kNotFound, "no share " + request.tenant});
  if (!tenant->record.kept)
    return failed(
        {ErrorCode::kUsage,
         request.tenant + " ends with its command; accepted: shares of divvy share create"});
  if (tenants_.liveness().inUse(tenant))
    return failed(
        {ErrorCode::kUnavailable, request.tenant + " is in use: stop its containers first"});
  tenant->record.kept = false;
  if (Result<void> saved = saveRecord(tenant->dir, tenant->record); !saved)
    log::warn("cannot store the record of a tenant",
              {{"tenant", tenant->record.id}, {"error", saved.error().message()}});
  tenants_.end(tenant);
  return DoneReply{};
}

Reply ApiServer::refuse(const RunRequest& request, const Decision& decision, int peer) const {
  tenants_.notifier().emit(
      turnedAwayEvent(request.name, decision.summary, processWord(peer, request.ask.user)));
  const ErrorCode code = decision.impossible ? ErrorCode::kUsage : ErrorCode::kNoRoom;
  FailedReply reply{code, decision.summary, explain(decision)};
  const std::vector<std::string> others =
      fixes(request.ask, tenants_.capacity().cards(nullptr, request.priority),
            tenants_.memory().host_reserve, placing_);
  std::string either;
  for (const std::string& fix : others) either += (either.empty() ? "would fit: " : ", or ") + fix;
  if (!either.empty()) reply.reasons.push_back(either);
  if (!decision.impossible && !request.wait)
    reply.reasons.emplace_back("--wait queues the request instead");
  return reply;
}

Reply ApiServer::explained(ExplainRequest request) const {
  RunRequest& run = request.run;
  const Result<Enforcement> enforcement = choose(run);
  if (!enforcement) return failed(enforcement.error());
  run.ask.unswappable = !arbiterGates(enforcement->backend);
  const std::vector<Card> cards = tenants_.capacity().cards(nullptr, run.priority);
  const Bytes host_reserve = tenants_.memory().host_reserve;
  const Decision decision = place(run.ask, cards, host_reserve, placing_);
  ExplainReply reply{decision.fits(),
                     decision.impossible,
                     decision.summary,
                     static_cast<unsigned>(queue_.entries().size()),
                     {},
                     {},
                     {}};
  for (const Card& card : cards)
    reply.devices.push_back({card.index, card.uuid, card.model, false, "", ""});
  for (DeviceVerdictView& device : reply.devices) {
    for (const PlacedShare& share : decision.shares) device.given |= share.index == device.device;
    for (const Refusal& refusal : decision.refusals) {
      if (refusal.index != device.device) continue;
      device.refusal = refusal.text();
      device.code = engine::codeOf(refusal.why);
    }
  }
  if (decision.fits()) return reply;
  reply.fixes = fixes(run.ask, cards, host_reserve, placing_);
  const std::vector<AllocationOwner> holders = tenants_.capacity().holders(run.priority);
  for (const std::string& id :
       victims(run.ask, run.priority, cards, holders, host_reserve, placing_)) {
    const TenantRecord& record = tenants_.find(id)->record;
    VictimView& victim = reply.victims.emplace_back();
    victim = {id, record.name, priorityName(record.priority), {}};
    for (const ShareRecord& share : record.shares) victim.memory = victim.memory + share.reserve;
  }
  return reply;
}

Reply ApiServer::started(const StartedRequest& request, int peer) {
  const TenantPtr tenant = tenants_.find(request.tenant);
  if (tenant == nullptr || tenant->record.holder.pid != peer) {
    return failed({ErrorCode::kNotFound, "no tenant " + request.tenant + " of yours"});
  }
  tenant->record.command_pid = request.pid;
  Result<void> saved = saveRecord(tenant->dir, tenant->record);
  if (!saved)
    log::warn("cannot store the record of a tenant",
              {{"tenant", tenant->record.id}, {"error", saved.error().message()}});
  return DoneReply{};
}

Reply ApiServer::ended(const EndRequest& request, int peer) {
  const TenantPtr tenant = tenants_.find(request.tenant);
  if (tenant == nullptr || tenant->record.holder.pid != peer)
    return DoneReply{"it has already ended"};
  tenants_.end(tenant);
  return DoneReply{};
}

Reply ApiServer::set(const SetRequest& request, const std::string& by) {
  const TenantPtr tenant = tenants_.find(request.tenant);
  if (tenant == nullptr)
    return failed({ErrorCode::kNotFound, "no tenant \"" + request.tenant + "\" is running"});
  Result<std::vector<std::string>> changed = tenants_.resizer().change(tenant, request, by);
  if (!changed) {
    tenants_.notifier().emit(unchangedEvent(tenant->record, changed.error().message(), by));
    return failed(changed.error());
  }
  DoneReply reply;
  for (const std::string& note : *changed) reply.note += (reply.note.empty() ? "" : "\n") + note;
  return reply;
}

asio::awaitable<Reply> ApiServer::waitFor(SessionPtr session, WaitRequest request) {
  const bool all = request.tenant.empty();
  if (!all && tenants_.find(request.tenant) == nullptr) {
    co_return failed({ErrorCode::kNotFound, "no tenant \"" + request.tenant + "\""});
  }
  for (;;) {
    const auto& living = tenants_.all();
    const TenantPtr tenant =
        all ? (living.empty() ? nullptr : living.begin()->second) : tenants_.find(request.tenant);
    if (tenant == nullptr) co_return DoneReply{};
    if (!co_await waitConnected(session, tenant->liveness.removed())) co_return DoneReply{};
    if (!all) co_return DoneReply{};
  }
}

Reply ApiServer::happened(const EventsRequest& request) const {
  return EventsReply{getpid(), events_.last(), events_.since(request.after, request.tenant)};
}

asio::awaitable<Reply> ApiServer::stopAgent(StopRequest request) {
  std::string ids;
  for (const auto& [id, tenant] : tenants_.all()) {
    // Tenants of pods stay as long as their pods, whatever happens to their processes.
    if (!tenant->record.lodger.uid.empty())
      co_return failed(
          {ErrorCode::kUnavailable, "containers of pods hold shares here (" + id +
                                        " and maybe others): drain the node, or stop the agent "
                                        "with SIGTERM; the next one takes them over"});
    ids += (ids.empty() ? "" : ", ") + id;
  }
  if (!ids.empty() && !request.force) {
    co_return failed({ErrorCode::kUnavailable,
                      "tenants are running: " + ids +
                          "; wait for them (divvy wait --all) or end them with --force"});
  }
  tenants_.liveness().signalAll(SIGTERM);
  const std::map<std::string, TenantPtr> living = tenants_.all();
  for (const auto& [id, tenant] : living)
    if (tenant->record.kept) tenants_.end(tenant);
  const auto deadline = steady_timer::clock_type::now() + kGrace;
  while (!tenants_.all().empty()) {
    const TenantPtr tenant = tenants_.all().begin()->second;
    steady_timer patience(loop_);
    patience.expires_at(
        std::max(deadline, steady_timer::clock_type::now() + std::chrono::milliseconds(100)));
    co_await (tenant->liveness.removed().async_wait(kNoThrow) || patience.async_wait(kNoThrow));
    if (steady_timer::clock_type::now() >= deadline) tenants_.liveness().signalAll(SIGKILL);
  }
  asio::post(loop_, stop_);
  co_return DoneReply{};
}

void ApiServer::wakeQueue() {
  room_.cancel();
}

}  // namespace divvy::agent
