#include "deviceplugin/device_plugin.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include <boost/json.hpp>

#include "container/injection.h"
#include "deviceplugin/mount_conflicts.h"
#include "kube/node.h"
#include "node_object/scheduler_dialect.h"
#include "os/log.h"
#include "pods/container_status.h"
#include "pods/pod_allocation.h"

// GCC 12 with -O2 takes the frame of a coroutine for one that another operator new made; both are
// Asio's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace divvy::agent {
namespace {

namespace json = boost::json;

// The kubelet gives up on us after 30 s.
constexpr kube::ClientOptions kTerms{50, 100, std::chrono::seconds(10), 2};
constexpr std::chrono::seconds kAgain{5};
// As long as it takes until a pod that the kubelet knows is told to us.
constexpr std::chrono::seconds kTold{5};
// As long as it takes at most until what a kubelet knows of a container is in the pod's status.
constexpr std::chrono::seconds kSettled{15};
constexpr std::chrono::milliseconds kFirstLook{5};
constexpr std::chrono::milliseconds kLongestLook{400};

void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

bool hasInit(const kube::Pod& pod, const std::string& resource) {
  return std::any_of(pod.init.begin(), pod.init.end(), [&](const kube::PodContainer& one) {
    return !one.sidecar && one.limits.contains(resource);
  });
}

}  // namespace

DevicePluginController::DevicePluginController(
    asio::io_context& loop, ClusterNode cluster, const Node& node, NodePaths paths,
    const InstallLayout& install, TenantManager& tenants, ContainerRegistration& door,
    const Inventory& inventory, const LimitBypassMonitor& bypass, PrivilegedAccess access)
    : loop_(loop),
      cluster_(std::move(cluster)),
      node_(node),
      paths_(std::move(paths)),
      install_(install),
      tenants_(tenants),
      inventory_(inventory),
      names_(countedNames(cluster_, inventory.devices())),
      resources_(resourcesOf(names_)),
      count_pause_(loop),
      door_(door),
      changes_(tenants, inventory, cluster_.name),
      injector_(cluster_, node, paths_, install, inventory, std::move(access.link)),
      bypass_watch_(bypass),
      units_(inventory.scores()),
      sockets_(std::move(access.sockets)),
      pod_resources_(sockets_) {}

Result<void> DevicePluginController::begin() {
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(loop_.get_executor(), cluster_.access, kTerms);
  if (!client) return client.error();
  client_ = std::move(*client);
  scores_ = linkScores();
  describeDevices();
  nics_ = nicPlaces();
  Result<void> good = door_.open();
  if (good) good = injector_.open();
  if (good) good = serve();
  if (!good) return good;
  followNode();
  followPods();
  return {};
}

void DevicePluginController::healthChanged() {
  describeDevices();
  noteWithheld();
  offer();
  tell();
}

void DevicePluginController::end() {
  if (plugins_.empty()) return;
  stopped_ = true;
  publishUnavailable();
  std::atomic<bool> quiet = false;
  std::thread stopper([&] {
    for (const auto& plugin : plugins_) plugin->stop();
    quiet = true;
  });
  loop_.restart();
  // Without work a loop returns at once; questions may still come.
  const auto work = asio::make_work_guard(loop_);
  while (!quiet || asked_ > 0) {
    if (loop_.stopped()) loop_.restart();  // whoever wants an end may say so twice
    loop_.run_one_for(std::chrono::milliseconds(50));
  }
  stopper.join();
}

// ---- pods ---------------------------------------------------------------------------------------

void DevicePluginController::followPods() {
  kube::EventHandlers pods;
  pods.path = "/api/v1/pods";
  pods.query = "fieldSelector=spec.nodeName%3D" + cluster_.name;
  pods.set = [this](const json::value& object) { heardPod(object); };
  pods.gone = [this](const std::string& uid, const std::string&) { leave(uid); };
  pods.synced = [this] {
    if (!std::exchange(pods_known_, true)) lookForHolders();
    for (const auto& [id, tenant] : tenants_.all()) {
      const PodContainer& lodger = tenant->record.lodger;
      if (!lodger.uid.empty() && !living_.contains(lodger.uid))
        asio::co_spawn(loop_, verify(id), rethrow);
    }
  };
  pods.trouble = [](const Error& error) { warn(error.message()); };
  asio::co_spawn(loop_, kube::runReflector(*client_, std::move(pods), pods_rein_, &stopped_),
                 rethrow);
}

void DevicePluginController::heardPod(const json::value& object) {
  Result<kube::Pod> pod = kube::podOf(object);
  if (!pod) return warn(pod.error().message());
  const std::string& uid = pod->meta.uid;
  if (pod->ended()) return leave(uid);
  // What is wrong is said when a container of it is made; many pods have no devices at all.
  (void)understand(cluster_.dialect, devices_, &*pod);
  const bool given = pod->meta.annotations.contains(assignmentKey(cluster_.dialect));
  living_.insert_or_assign(uid, Names{pod->meta.space, pod->meta.name, given, assignedCards(*pod)});
  // Of one that has a tenant here the kubelet has asked before.
  const bool begun = !cardsOf(uid).empty();
  units_.waits(uid, begun ? std::vector<WaitingContainer>() : waitingOf(*pod, resources_));
  changes_.heard(*pod);
  noteDeadlines(*pod);
  note(*pod, object);
  noteLodgers();
  tell();
}

void DevicePluginController::leave(const std::string& uid) {
  living_.erase(uid);
  idle_deadlines_.erase(uid);
  bypass_deadlines_.erase(uid);
  units_.forget(uid);
  std::erase_if(turns_, [&](const auto& one) { return one.second.uid == uid; });
  changes_.forget(uid);
  noteLodgers();
  tell();
  endPod(uid);
  noteFull();
}

void DevicePluginController::endPod(const std::string& uid) {
  std::vector<TenantPtr> over;
  for (const auto& [id, tenant] : tenants_.all())
    if (tenant->record.lodger.uid == uid) over.push_back(tenant);
  for (const TenantPtr& tenant : over) tenants_.end(tenant);
}

asio::awaitable<Result<json::value>> DevicePluginController::pod(std::string space,
                                                                 std::string name) {
  kube::Call call;
  call.path = "/api/v1/namespaces/" + space + "/pods/" + name;
  co_return co_await client_->ask(std::move(call));
}

// Until there is an answer: nobody else would ask again.
asio::awaitable<void> DevicePluginController::verify(std::string id) {
  while (!stopped_) {
    TenantPtr tenant = tenants_.find(id);
    if (tenant == nullptr) co_return;
    const PodContainer lodger = tenant->record.lodger;
    tenant.reset();
    if (living_.contains(lodger.uid)) co_return;
    const Result<json::value> object = co_await pod(lodger.space, lodger.pod);
    bool over = !object && object.error().code() == ErrorCode::kNotFound;
    const bool answered = object || over;
    if (object) {
      const Result<kube::Pod> now = kube::podOf(*object);
      over = now && (now->ended() || now->meta.uid != lodger.uid);
    }
    if (over) endPod(lodger.uid);
    if (answered) co_return;
    asio::steady_timer pause(loop_, kAgain);
    co_await pause.async_wait(kNoThrow);
  }
}

// ---- containers ---------------------------------------------------------------------------------

void DevicePluginController::start(DeviceIds units, kubelet::Answer<void> answer) {
  ++asked_;
  const auto told = [this, answer = std::move(answer)](Result<void> result) {
    if (!result) warn("a container is not started: " + result.error().message());
    answer(std::move(result));
    --asked_;
  };
  pod_resources_.list([this, units = std::move(units), told](Held held) {
    asio::post(loop_, [this, units, told, held = std::move(held)]() mutable {
      asio::co_spawn(loop_, prepare(std::move(held), units, told), rethrow);
    });
  });
}

asio::awaitable<void> DevicePluginController::prepare(Held held, DeviceIds units,
                                                      kubelet::Answer<void> answer) {
  answer(co_await startOne(std::move(held), std::move(units)));
}

asio::awaitable<Result<DevicePluginController::Owner>> DevicePluginController::ownerOf(
    Held held, DeviceIds units) {
  if (!held) co_return held.error();
  Owner owner;
  if (const auto* holder = kubelet::holderOf(*held, units.resource, units.ids))
    owner = {holder->space, holder->pod, holder->container, {}, {}};
  const auto noted = this->noted();
  if (!noted && owner.pod.empty())
    co_return Error(noted.error()).context("the kubelet does not say whose devices these are");
  if (!noted) owner.unread = noted.error();
  if (noted) owner.noted = kubelet::notedWith(*noted, units.resource, units.ids);
  // Of who ends only the UID is known: the pod is told of a little later.
  const auto until = std::chrono::steady_clock::now() + kTold;
  asio::steady_timer pause(loop_);
  std::chrono::milliseconds wait = kFirstLook;
  while (owner.pod.empty() && !owner.noted.empty() && std::chrono::steady_clock::now() < until) {
    for (const kubelet::CheckpointEntry& one : owner.noted)
      if (const auto pod = living_.find(one.uid); pod != living_.end())
        owner.space = pod->second.space, owner.pod = pod->second.pod;
    if (!owner.pod.empty()) break;
    pause.expires_after(wait);
    co_await pause.async_wait(kNoThrow);
    wait = std::min(wait * 2, kLongestLook);
  }
  if (!owner.pod.empty()) co_return owner;
  co_return Error{ErrorCode::kUnavailable, "the kubelet does not say whose devices these are: " +
                                               units.ids.front() + " and others"};
}

bool DevicePluginController::isNoted(const Owner& owner, const std::string& uid) {
  return std::any_of(owner.noted.begin(), owner.noted.end(),
                     [&](const kubelet::CheckpointEntry& one) { return one.uid == uid; });
}

std::vector<std::string> DevicePluginController::sharingOf(const Owner& owner,
                                                           const std::string& uid) {
  std::vector<std::string> names;
  if (!owner.container.empty()) names.push_back(owner.container);
  for (const kubelet::CheckpointEntry& one : owner.noted)
    if (one.uid == uid && std::find(names.begin(), names.end(), one.container) == names.end())
      names.push_back(one.container);
  return names;
}

std::optional<LastStartedContainer> DevicePluginController::lastTurn(const std::string& tenant,
                                                                     const std::string& uid) const {
  if (const auto known = turns_.find(tenant); known != turns_.end() && known->second.uid == uid)
    return known->second.last;
  const TenantPtr there = tenants_.find(tenant);
  if (there == nullptr || there->record.lodger.uid != uid) return std::nullopt;
  return LastStartedContainer{there->record.lodger.container, std::nullopt};
}

asio::awaitable<Result<void>> DevicePluginController::startOne(Held held, DeviceIds units) {
  if (units.ids.empty())
    co_return Error{ErrorCode::kUsage,
                    "no units of " + units.resource + " were named; accepted: one or more"};
  if (!areOurs(units.ids))
    co_return Error{ErrorCode::kUnavailable,
                    units.ids.front() + " was given by another plugin, which served " +
                        units.resource + " here before: its pod has to be made anew"};
  const Result<Owner> owner = co_await ownerOf(std::move(held), units);
  if (!owner) co_return owner.error();
  const std::string tenant = tenantIdFor(units.ids, units.resource);
  const auto until = std::chrono::steady_clock::now() + kSettled;
  asio::steady_timer pause(loop_);
  std::chrono::milliseconds wait = kFirstLook;
  for (bool settled = false;; settled = std::chrono::steady_clock::now() >= until) {
    const Result<json::value> object = co_await pod(owner->space, owner->pod);
    if (!object) co_return object.error();
    Result<kube::Pod> now = kube::podOf(*object);
    if (!now) co_return now.error();
    const Result<void> understood = understand(cluster_.dialect, devices_, &*now);
    if (!understood) co_return understood.error();
    // One of them has the same devices, or not: nobody is taken for another one.
    if (!owner->unread && !isNoted(*owner, now->meta.uid))
      co_return Error{ErrorCode::kUnavailable, "the kubelet gave these devices to another pod " +
                                                   owner->space + "/" + owner->pod + " than " +
                                                   now->meta.uid};
    if (owner->unread && hasInit(*now, units.resource))
      co_return Error(*owner->unread).context("an init container asks for devices");
    const auto states = containerStates(*object);
    const auto turn = resolveContainer(*now, states, sharingOf(*owner, now->meta.uid),
                                       lastTurn(tenant, now->meta.uid), settled);
    if (turn) {
      Result<bool> lodged =
          lodge(*object, *now, {owner->space, owner->pod, *turn, units.resource, units.ids},
                settled || stopped_);
      if (lodged && *lodged) units_.taken(now->meta.uid, units.ids);
      if (lodged && *lodged) turns_[tenant] = {now->meta.uid, {*turn, states}};
      if (!lodged) co_return lodged.error();
      if (*lodged) co_return Result<void>();
    }
    if (stopped_)
      co_return Error{ErrorCode::kUnavailable, "this agent ends; the next one is asked again"};
    if (settled)
      co_return Error{ErrorCode::kUnavailable,
                      "which of the containers of pod " + owner->space + "/" + owner->pod +
                          " is about to be made cannot be seen from its status"};
    pause.expires_after(wait);
    co_await pause.async_wait(kNoThrow);
    wait = std::min(wait * 2, kLongestLook);
  }
}

Result<bool> DevicePluginController::lodge(const json::value& object, const kube::Pod& pod,
                                           const kubelet::PodDevices& held, bool last) {
  if (const Result<void> stay = ourMountsStay(object, held.container); !stay) return stay.error();
  const Result<PodAllocation> share =
      podShare(pod, held, cluster_.name, inventory_.devices(), tenants_.cards());
  if (!share) return share.error();
  const std::string id = tenantIdFor(held.ids, held.resource);
  // Those before it in the pod have what they have until they are ended.
  const Result<void> open = openTo(share->decision, inventory_.devices(), cardsOf(pod.meta.uid));
  endThoseBefore(pod, held.container, id);
  if (const TenantPtr there = tenants_.find(id); there != nullptr) {
    // The same container once more: it finds its pages where they were.
    if (there->pages && there->record.lodger == share->container) return prepared(*there);
    const PodContainer& lodger = there->record.lodger;
    if (lodger.uid != pod.meta.uid && living_.contains(lodger.uid))
      return Error{ErrorCode::kUnavailable, "the kubelet gave devices of pod " + lodger.space +
                                                "/" + lodger.pod + ", which is not over, to pod " +
                                                held.space + "/" + held.pod};
    // The kubelet has given them to somebody else: who had them is over.
    tenants_.end(there);
  }
  if (!open) return open.error();
  const std::string cramped = crampedNow(share->decision, pod.meta.uid, id);
  if (!cramped.empty() && !last) return false;
  if (!cramped.empty()) return Error{ErrorCode::kUnavailable, cramped};
  const Result<TenantPtr> made =
      tenants_.createFor(share->container, id, share->request, share->decision);
  if (!made) return made.error();
  (*made)->labels = pod.meta.labels;
  // It may have ended while we asked.
  if (!living_.contains(pod.meta.uid)) asio::co_spawn(loop_, verify(id), rethrow);
  return prepared(**made);
}

Result<bool> DevicePluginController::prepared(Tenant& tenant) {
  const Result<void> done = injector_.prepare(tenant);
  if (!done) return done.error();
  return true;
}

void DevicePluginController::note(const kube::Pod& pod, const json::value& object) {
  const std::string& uid = pod.meta.uid;
  const auto states = containerStates(object);
  for (const auto& [id, tenant] : tenants_.all()) {
    if (tenant->record.lodger.uid != uid) continue;
    tenant->labels = pod.meta.labels;
    const auto state = states.find(tenant->record.lodger.container);
    // Or has run meanwhile.
    const bool made = state != states.end() && (state->second.phase != ContainerPhase::kWaiting ||
                                                !state->second.ended.empty());
    if (made) injector_.runs(id);
  }
}

// UUIDs of cards that its containers have something of.
std::set<std::string> DevicePluginController::cardsOf(const std::string& uid) const {
  std::set<std::string> cards;
  for (const auto& [id, tenant] : tenants_.all()) {
    if (tenant->record.lodger.uid != uid) continue;
    for (const ShareRecord& share : tenant->record.shares) cards.insert(share.uuid);
  }
  return cards;
}

// Their room is that of who comes now.
void DevicePluginController::endThoseBefore(const kube::Pod& pod, const std::string& container,
                                            const std::string& but) {
  const std::vector<std::string> names = overBefore(pod, container);
  std::vector<TenantPtr> over;
  for (const auto& [id, tenant] : tenants_.all()) {
    const PodContainer& lodger = tenant->record.lodger;
    // Itself, too, with other units: it is made anew.
    const bool before = lodger.container == container ||
                        std::find(names.begin(), names.end(), lodger.container) != names.end();
    if (id != but && lodger.uid == pod.meta.uid && before) over.push_back(tenant);
  }
  for (const TenantPtr& tenant : over) tenants_.end(tenant);
}

}  // namespace divvy::agent
