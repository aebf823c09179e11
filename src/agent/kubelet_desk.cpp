#include "kubelet_desk.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <thread>
#include <utility>

#include <boost/json.hpp>

#include "injection.h"
#include "kube/node.h"
#include "log.h"
#include "mount_guard.h"
#include "pod_share.h"

namespace divvy::agent {
namespace {

namespace json = boost::json;

// Source: facts on the incumbent's control plane, 2.1.
constexpr const char* kRegister = "hami.io/node-nvidia-register";
// The kubelet gives up on us after 30 s.
constexpr kube::ClientTerms kTerms{50, 100, std::chrono::seconds(10), 2};
constexpr std::chrono::seconds kAgain{5};
constexpr int kNoNuma = -1;

void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

}  // namespace

KubeletDesk::KubeletDesk(asio::io_context& loop, ClusterNode cluster, const Node& node,
                         NodePaths paths, const Install& install, Tenants& tenants,
                         const Inventory& inventory)
    : loop_(loop),
      cluster_(std::move(cluster)),
      node_(node),
      paths_(std::move(paths)),
      install_(install),
      tenants_(tenants),
      inventory_(inventory),
      registration_(kube::encode(
          registrationOf(inventory.devices(), tenants.memory().devices, cluster_.per_device))),
      registrar_(loop, tenants),
      resources_(cluster_.kubelet_dir + "/pod-resources/kubelet.sock") {}

Result<void> KubeletDesk::begin() {
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(loop_.get_executor(), cluster_.access, kTerms);
  if (!client) return client.error();
  client_ = std::move(*client);
  Result<void> good = layOut();
  if (good) good = registrar_.listen(paths_.containersRegistrar(), Registrar::Hears::kAll);
  if (good) good = serve();
  if (!good) return good;
  followNode();
  followPods();
  return {};
}

// What is mounted into containers, whose users may be anyone's.
Result<void> KubeletDesk::layOut() {
  if (const Result<std::string> libraries = install_.preload(); !libraries)
    return libraries.error();
  const std::string dir = paths_.containersDir();
  if (mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) return ioError("creating " + dir);
  if (chmod(dir.c_str(), 0755) != 0) return ioError("opening " + dir + " to containers");
  const std::string fresh = paths_.preloadList() + ".new";
  std::ofstream file(fresh, std::ios::trunc);
  file << preloadListInside();
  file.close();
  // Containers that have the old one keep it.
  if (!file || chmod(fresh.c_str(), 0644) != 0 ||
      rename(fresh.c_str(), paths_.preloadList().c_str()) != 0)
    return ioError("writing " + paths_.preloadList());
  return {};
}

Result<void> KubeletDesk::serve() {
  std::string socket = "divvy-" + cluster_.resource + ".sock";
  std::replace(socket.begin(), socket.end(), '/', '_');
  std::vector<kubelet::Device> units;
  for (const Device& device : inventory_.devices()) {
    // Which card it is the scheduler says: aligning to a unit's own would be wrong.
    for (kubelet::Device& unit : unitsOf(device.info.uuid, kNoNuma, cluster_.per_device))
      units.push_back(std::move(unit));
  }
  kubelet::Questions questions;
  questions.allocate = [this](std::vector<std::string> ids,
                              const kubelet::Answer<kubelet::Injection>& answer) {
    answer(injectionFor(tenantIdFor(std::move(ids)), node_, paths_, install_));
  };
  questions.start = [this](std::vector<std::string> ids, kubelet::Answer<void> answer) {
    asio::post(loop_, [this, ids = std::move(ids), answer = std::move(answer)]() mutable {
      start(std::move(ids), std::move(answer));
    });
  };
  kubelet::PluginTerms terms{
      cluster_.kubelet_dir + "/device-plugins", socket, cluster_.resource,
      [this](const std::string& line) { asio::post(loop_, [line] { info(line); }); }};
  Result<std::unique_ptr<kubelet::DevicePlugin>> plugin =
      kubelet::DevicePlugin::begin(std::move(terms), std::move(units), std::move(questions));
  if (!plugin) return plugin.error();
  plugin_ = std::move(*plugin);
  return {};
}

void KubeletDesk::end() {
  if (!plugin_) return;
  stopped_ = true;
  std::atomic<bool> quiet = false;
  std::thread stopper([&] {
    plugin_->stop();
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

// ---- the node -----------------------------------------------------------------------------------

void KubeletDesk::followNode() {
  kube::Follower nodes;
  nodes.path = "/api/v1/nodes";
  nodes.query = "fieldSelector=metadata.name%3D" + cluster_.name;
  nodes.set = [this](const json::value& object) { heard(object); };
  nodes.gone = [](const std::string&, const std::string& name) {
    warn("node " + name + " is gone");
  };
  nodes.synced = [] {};
  nodes.trouble = [](const Error& error) { warn(error.message()); };
  asio::co_spawn(loop_, kube::follow(*client_, std::move(nodes), node_rein_, &stopped_), rethrow);
}

void KubeletDesk::heard(const json::value& object) {
  const Result<kube::Node> node = kube::nodeOf(object);
  if (!node) return warn(node.error().message());
  const auto written = node->meta.annotations.find(kRegister);
  const bool known = written != node->meta.annotations.end() && written->second == registration_;
  if (known || enrolling_) return;
  enrolling_ = true;
  asio::co_spawn(loop_, enroll(), rethrow);
}

asio::awaitable<void> KubeletDesk::enroll() {
  const json::object patch{{"metadata", {{"annotations", {{kRegister, registration_}}}}}};
  while (!stopped_) {
    kube::Call call;
    call.verb = kube::Verb::kPatch;
    call.path = "/api/v1/nodes/" + cluster_.name;
    call.body = json::serialize(patch);
    call.type = kube::kMergePatch;
    const Result<json::value> done = co_await client_->ask(std::move(call));
    if (done) {
      info("node " + cluster_.name + " is registered with " +
           std::to_string(inventory_.devices().size()) + " devices");
      break;
    }
    warn("registering node " + cluster_.name + ": " + done.error().message());
    asio::steady_timer pause(loop_, kAgain);
    co_await pause.async_wait(kNoThrow);
  }
  enrolling_ = false;
}

// ---- pods ---------------------------------------------------------------------------------------

void KubeletDesk::followPods() {
  kube::Follower pods;
  pods.path = "/api/v1/pods";
  pods.query = "fieldSelector=spec.nodeName%3D" + cluster_.name;
  pods.set = [this](const json::value& object) {
    const Result<kube::Pod> pod = kube::podOf(object);
    if (!pod) return warn(pod.error().message());
    if (pod->ended()) {
      living_.erase(pod->meta.uid);
      endPod(pod->meta.uid);
    } else {
      living_.insert(pod->meta.uid);
    }
  };
  pods.gone = [this](const std::string& uid, const std::string&) {
    living_.erase(uid);
    endPod(uid);
  };
  pods.synced = [this] {
    for (const auto& [id, tenant] : tenants_.all()) {
      const PodContainer& lodger = tenant->record.lodger;
      if (!lodger.uid.empty() && !living_.contains(lodger.uid))
        asio::co_spawn(loop_, verify(id), rethrow);
    }
  };
  pods.trouble = [](const Error& error) { warn(error.message()); };
  asio::co_spawn(loop_, kube::follow(*client_, std::move(pods), pods_rein_, &stopped_), rethrow);
}

void KubeletDesk::endPod(const std::string& uid) {
  std::vector<TenantPtr> over;
  for (const auto& [id, tenant] : tenants_.all())
    if (tenant->record.lodger.uid == uid) over.push_back(tenant);
  for (const TenantPtr& tenant : over) tenants_.end(tenant);
}

asio::awaitable<Result<json::value>> KubeletDesk::pod(std::string space, std::string name) {
  kube::Call call;
  call.path = "/api/v1/namespaces/" + space + "/pods/" + name;
  co_return co_await client_->ask(std::move(call));
}

// Until there is an answer: nobody else would ask again.
asio::awaitable<void> KubeletDesk::verify(std::string id) {
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

void KubeletDesk::start(std::vector<std::string> ids, kubelet::Answer<void> answer) {
  ++asked_;
  const auto told = [this, answer = std::move(answer)](Result<void> result) {
    if (!result) warn("a container is not started: " + result.error().message());
    answer(std::move(result));
    --asked_;
  };
  resources_.list(
      [this, ids = std::move(ids), told](Result<std::vector<kubelet::HeldDevices>> held) {
        asio::post(loop_, [this, ids, told, held = std::move(held)] { settle(held, ids, told); });
      });
}

void KubeletDesk::settle(const Result<std::vector<kubelet::HeldDevices>>& held,
                         const std::vector<std::string>& ids, kubelet::Answer<void> answer) {
  if (!held) return answer(held.error());
  const kubelet::HeldDevices* holder = kubelet::holderOf(*held, cluster_.resource, ids);
  if (holder == nullptr)
    return answer(Error{ErrorCode::kUnavailable,
                        "the kubelet does not say whose devices these are: " + ids.front() +
                            " and others; init containers that end cannot have any"});
  asio::co_spawn(loop_, prepare(*holder, std::move(answer)), rethrow);
}

asio::awaitable<void> KubeletDesk::prepare(kubelet::HeldDevices held,
                                           kubelet::Answer<void> answer) {
  const Result<json::value> object = co_await pod(held.space, held.pod);
  answer(object ? lodge(*object, held) : Result<void>(object.error()));
}

Result<void> KubeletDesk::lodge(const json::value& object, const kubelet::HeldDevices& held) {
  const Result<kube::Pod> pod = kube::podOf(object);
  if (!pod) return pod.error();
  if (const Result<void> open = ourMountsStay(object, held.container); !open) return open.error();
  const Result<PodShare> share =
      podShare(*pod, held, cluster_.name, inventory_.devices(), tenants_.cards());
  if (!share) return share.error();
  const std::string id = tenantIdFor(held.ids);
  if (const TenantPtr there = tenants_.find(id); there != nullptr) {
    // The same container once more: it finds its pages where they were.
    if (there->pages && there->record.lodger == share->container) return {};
    const PodContainer& lodger = there->record.lodger;
    if (lodger.uid != pod->meta.uid && living_.contains(lodger.uid))
      return Error{ErrorCode::kUnavailable, "the kubelet gave devices of pod " + lodger.space +
                                                "/" + lodger.pod + ", which is not over, to pod " +
                                                held.space + "/" + held.pod};
    // The kubelet has given them to somebody else: who had them is over.
    tenants_.end(there);
  }
  const Result<TenantPtr> made =
      tenants_.createFor(share->container, id, share->request, share->decision);
  if (!made) return made.error();
  // It may have ended while we asked.
  if (!living_.contains(pod->meta.uid)) asio::co_spawn(loop_, verify(id), rethrow);
  return {};
}

}  // namespace divvy::agent
