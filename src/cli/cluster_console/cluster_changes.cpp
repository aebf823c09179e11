#include "cluster_console/cluster_changes.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "cluster_console/change_effects.h"
#include "cluster_console/change_event.h"
#include "kube/queue.h"
#include "kubernetes/cordon_plan.h"
#include "kubernetes/device_cordon.h"
#include "kubernetes/pod_facts.h"
#include "kubernetes/pod_resize.h"

namespace divvy::cli {
namespace {

using Clock = std::chrono::steady_clock;
using console::ClusterChangeKind;
using console::ClusterChangeOutcome;
using console::ClusterChangeState;
using console::ClusterRefusal;
using std::chrono::milliseconds;

constexpr milliseconds kWatchBound{3000};
constexpr int kCordonTries = 2;

using Outcome = Result<ClusterChangeOutcome>;

// Returns whether the API server answered with this status; kube::errorOf() writes such texts.
bool hasStatus(const Error& error, const std::string& status) {
  const std::string& text = error.message();
  for (const char* after : {" ", ":"})
    if (text.starts_with(status + after) || text.find(": " + status + after) != std::string::npos)
      return true;
  return text == status;
}

// A refusal of the API server; nothing: it is none.
std::optional<ClusterRefusal> refusalOf(const Error& error) {
  if (error.code() == ErrorCode::kUnsupported)
    return ClusterRefusal{"Unsupported", error.message()};
  if (error.code() == ErrorCode::kUsage) return ClusterRefusal{"usage", error.message()};
  if (error.code() != ErrorCode::kIo) return std::nullopt;
  if (hasStatus(error, "401"))
    return ClusterRefusal{"forbidden",
                          "the API server does not accept your token any more; sign "
                          "in again: " +
                              error.message()};
  if (hasStatus(error, "403")) return ClusterRefusal{"forbidden", error.message()};
  if (hasStatus(error, "409"))
    return ClusterRefusal{"conflict", "it was changed meanwhile; look again: " + error.message()};
  return std::nullopt;
}

const char* reasonOf(ClusterChangeKind kind) {
  switch (kind) {
    case ClusterChangeKind::kResize:
      return "ResizeRequested";
    case ClusterChangeKind::kPriority:
      return "PriorityRequested";
    case ClusterChangeKind::kCordon:
      return "DeviceCordoned";
    case ClusterChangeKind::kUncordon:
      return "DeviceUncordoned";
    case ClusterChangeKind::kEvict:
      return "EvictionRequested";
    case ClusterChangeKind::kNotice:
      return "OperatorNotice";
    case ClusterChangeKind::kQueue:
      break;
  }
  return "QueueChanged";
}

// The devices of a cordon, as the watch knows them.
struct DevicesOfCordon {
  Result<Cordons> cordons = Error{ErrorCode::kInternal, "the question was not answered"};
  CordonedDevices devices;
};

void readDevices(const Cluster& cluster, const console::ClusterChangeTarget& target,
                 DevicesOfCordon* out) {
  out->cordons = cordonsOf(cluster.cache().nodes().devicesOf(target.node), target.node,
                           target.device, cluster.terms().catalog);
  if (!out->cordons) return;
  for (const auto& [key, uuids] : *out->cordons)
    out->devices.uuids.insert(uuids.begin(), uuids.end());
  std::set<std::string> pods;
  for (const scheduler::AllocatedShare& share : cluster.cache().pods().shares())
    if (share.node == target.node && out->devices.uuids.contains(share.uuid))
      pods.insert(share.namespace_name + '/' + share.pod);
  out->devices.pods = pods.size();
}

boost::json::array amountsOf(const std::vector<kube::QueueAmount>& amounts) {
  boost::json::array list;
  for (const kube::QueueAmount& one : amounts) {
    boost::json::object& item =
        list.emplace_back(boost::json::object{{"model", one.model}}).get_object();
    if (one.milli) item["gpuMilli"] = *one.milli;
    if (one.mebibytes) item["memoryMiB"] = *one.mebibytes;
  }
  return list;
}

// The members that change. The version: another change meanwhile is not overwritten.
std::string queuePatch(const kube::Queue& queue, const console::QueueTerms& terms) {
  boost::json::object spec;
  if (terms.guarantee) spec["guarantee"] = amountsOf(*terms.guarantee);
  if (terms.limit) spec["limit"] = amountsOf(*terms.limit);
  if (terms.weight) spec["weight"] = *terms.weight;
  if (terms.borrows) spec["borrowing"] = *terms.borrows;
  return boost::json::serialize(boost::json::object{
      {"metadata", boost::json::object{{"resourceVersion", queue.meta.version}}},
      {"spec", std::move(spec)}});
}

// One change. Its functions return the outcome, or an error that is none.
class Changer {
 public:
  Changer(KubeApi& api, ClusterWatch& watch, const console::ClusterChange& change,
          const ChangeBounds& bounds)
      : api_(api), watch_(watch), change_(change), bounds_(bounds) {
    if (!change.dry_run) outcome_.state = ClusterChangeState::kDone;
  }

  Outcome make() {
    switch (change_.kind) {
      case ClusterChangeKind::kResize:
      case ClusterChangeKind::kPriority:
        return resize();
      case ClusterChangeKind::kCordon:
      case ClusterChangeKind::kUncordon:
        return cordon();
      case ClusterChangeKind::kEvict:
        return evict();
      case ClusterChangeKind::kNotice:
        return notice();
      case ClusterChangeKind::kQueue:
        break;
    }
    return changeQueue();
  }

 private:
  // A pod, its owner, and its name for messages.
  struct FoundPod {
    kube::Pod pod;
    std::string owner;
    PodName name;

    ChangedObject object() const {
      return {"v1", "Pod", name.namespace_name, name.name, pod.meta.uid};
    }
  };

  Result<FoundPod> findPod() {
    FoundPod found;
    found.name = {change_.target.namespace_name, change_.target.pod};
    const Result<boost::json::value> object = api_.call({kube::Verb::kGet, found.name.path()});
    if (!object) return Error(object.error()).context(found.name.text());
    Result<kube::Pod> pod = kube::podOf(*object);
    if (!pod) return pod.error();
    found.pod = std::move(*pod);
    found.owner = ownerOf(*object);
    return found;
  }

  Outcome resize() {
    const Result<FoundPod> found = findPod();
    if (!found) return failed(found.error());
    if (found->pod.ended())
      return failed({ErrorCode::kNotFound, found->name.text() + " has ended"});
    if (!take(effectsOnShare(found->pod, change_))) return unchanged();
    kube::ResizeRequest request;
    request.id = newResizeId();
    request.container = change_.target.container;
    request.mebibytes = change_.to.mebibytes;
    request.cores = change_.to.cores;
    request.priority = change_.to.priority;
    const Result<void> asked =
        requestResize(api_, found->name, found->pod, request, change_.dry_run);
    if (!asked) return failed(asked.error(), true);
    if (!change_.dry_run) {
      settle(*found, request.id);
      if (outcome_.refused) return outcome_;
    }
    return recorded(found->object());
  }

  // Waits for the scheduler's answer.
  void settle(const FoundPod& found, const std::string& id) {
    const auto left = std::chrono::duration_cast<milliseconds>(end_ - Clock::now());
    const Result<ResizeOutcome> answer = awaitResize(
        api_, found.name, found.pod, id, std::clamp(left, milliseconds(0), bounds_.resize));
    outcome_.state = ClusterChangeState::kRequested;
    if (!answer) {
      outcome_.warnings.push_back("the request is written, and its result is not known: " +
                                  answer.error().message());
      return;
    }
    if (!answer->state) {
      outcome_.warnings.push_back("the scheduler has not answered yet");
    } else if (answer->state->phase == kube::ResizePhase::kRefused) {
      outcome_.refused = ClusterRefusal{answer->state->reason, answer->state->message};
      outcome_.state = ClusterChangeState::kDone;
    } else if (answer->state->phase == kube::ResizePhase::kDone) {
      outcome_.state = ClusterChangeState::kDone;
    } else {
      outcome_.warnings.push_back("the scheduler has admitted it, and the agent of node " +
                                  found.pod.node + " has not answered yet");
    }
  }

  Outcome cordon() {
    const auto known = std::make_shared<DevicesOfCordon>();
    const Result<void> ran =
        watch_.run([known, target = change_.target](
                       Cluster& cluster) { readDevices(cluster, target, known.get()); },
                   kWatchBound);
    if (!ran) return failed(ran.error());
    if (!known->cordons) return failed(known->cordons.error());
    const bool close = change_.kind == ClusterChangeKind::kCordon;
    const CordonChange open =
        change_.target.device.empty() ? CordonChange::kOpenAll : CordonChange::kOpen;
    take(effectsOfCordon(change_, known->devices));
    bool sent = false;
    const Result<CordonOutcome> written =
        writeCordons(api_, change_.target.node, *known->cordons,
                     close ? CordonChange::kClose : open, {change_.dry_run, kCordonTries, &sent});
    if (!written) return failed(written.error(), sent);
    if (!written->changed) return unchanged();
    if (written->unschedulable && !close)
      outcome_.warnings.push_back("node " + change_.target.node +
                                  " itself takes no pods until \"kubectl uncordon\"");
    return recorded({"v1", "Node", "", change_.target.node, written->node_uid});
  }

  Outcome evict() {
    const Result<FoundPod> found = findPod();
    if (!found) return failed(found.error());
    if (!take(effectsOfEviction(found->pod, found->owner))) return unchanged();
    // The API server would delete its mirror only.
    if (isStatic(found->pod))
      return failed({ErrorCode::kUnsupported, whyNotToEvict(found->pod) + "; nothing was changed"});
    kube::EvictionOptions ask{
        found->name.namespace_name, found->name.name, found->pod.meta.uid, {}};
    ask.dry_run = change_.dry_run;
    const Result<kube::Eviction> ended = api_.evict(std::move(ask));
    if (!ended) return failed(ended.error(), true);
    switch (ended->end) {
      case kube::EvictionOutcome::kEvicted:
        return recorded(found->object());
      case kube::EvictionOutcome::kGone:
        return failed({ErrorCode::kNotFound, ended->why});
      case kube::EvictionOutcome::kForbidden:
        return refused({"conflict", ended->why});
      case kube::EvictionOutcome::kRefused:
        break;
    }
    const std::optional<ClusterRefusal> why = refusalOf({ErrorCode::kIo, ended->why});
    return refused(why ? *why : ClusterRefusal{"conflict", ended->why});
  }

  // The Event is the change.
  Outcome notice() {
    const Result<FoundPod> found = findPod();
    if (!found) return failed(found.error());
    take({{found->name.text() + " gets a Warning Event with this text: " + change_.to.text}, {}});
    const Result<boost::json::value> written = writeEvent(found->object(), change_.to.text);
    if (!written) return failed(written.error(), true);
    if (!change_.dry_run) outcome_.recorded = true;
    return outcome_;
  }

  Outcome changeQueue() {
    const std::string path = std::string(kube::kQueuesPath) + '/' + change_.target.queue;
    const Result<boost::json::value> object = api_.call({kube::Verb::kGet, path});
    if (!object) return failed(Error(object.error()).context("queue " + change_.target.queue));
    const Result<kube::Queue> queue = kube::queueOf(*object);
    if (!queue) return failed(queue.error());
    if (!take(effectsOnQueue(*queue, change_.to.queue))) return unchanged();
    kube::Call call{kube::Verb::kPatch, path + (change_.dry_run ? "?dryRun=All" : ""),
                    queuePatch(*queue, change_.to.queue), kube::kMergePatch};
    const Result<boost::json::value> written = api_.call(std::move(call));
    if (!written)
      return failed(Error(written.error()).context("queue " + change_.target.queue), true);
    return recorded({"divvy.dev/v1alpha1", "Queue", "", change_.target.queue, queue->meta.uid});
  }

  // Returns false if there are no effects.
  bool take(ChangeEffects effects) {
    outcome_.effects = std::move(effects.effects);
    outcome_.warnings = std::move(effects.warnings);
    return !outcome_.effects.empty();
  }

  Outcome unchanged() {
    outcome_.effects = {"nothing changes: it is so already"};
    outcome_.warnings.clear();
    return outcome_;
  }

  Outcome refused(ClusterRefusal why) {
    outcome_.refused = std::move(why);
    return outcome_;
  }

  // `written`: the error is that of a write, which may have happened without a reply.
  Outcome failed(const Error& error, bool written = false) {
    if (std::optional<ClusterRefusal> why = refusalOf(error)) return refused(std::move(*why));
    if (error.code() == ErrorCode::kNotFound)
      return Error{ErrorCode::kNotFound, error.message() + "; nothing was changed"};
    const bool open = written && !change_.dry_run;
    return Error{
        ErrorCode::kUnavailable,
        error.message() + (open ? "; it is not known whether the change was made: look again"
                                : "; nothing was changed")};
  }

  Result<boost::json::value> writeEvent(const ChangedObject& object, const std::string& text) {
    ChangeEvent event;
    event.object = object;
    event.reason = reasonOf(change_.kind);
    event.message = change_.user + ": " + text;
    event.warning = change_.kind == ClusterChangeKind::kNotice;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return api_.call(changeEventCall(
        event, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), change_.dry_run));
  }

  // Without the right to write Events the change is made all the same.
  Outcome recorded(const ChangedObject& object) {
    std::string text;
    for (const std::string& effect : outcome_.effects) text += (text.empty() ? "" : "; ") + effect;
    const Result<boost::json::value> written = writeEvent(object, text);
    if (!change_.dry_run) outcome_.recorded = written.has_value();
    if (!written)
      outcome_.warnings.push_back("no Event names you as the cause: " + written.error().message());
    return outcome_;
  }

  KubeApi& api_;
  ClusterWatch& watch_;
  const console::ClusterChange& change_;
  const ChangeBounds& bounds_;
  const Clock::time_point end_ = Clock::now() + bounds_.whole;
  ClusterChangeOutcome outcome_;
};

// Other names would be another request. An empty one is of another kind.
bool namesObjects(const console::ClusterChangeTarget& target) {
  const std::string* const names[] = {&target.namespace_name, &target.pod, &target.node,
                                      &target.queue};
  return std::all_of(std::begin(names), std::end(names),
                     [](const std::string* name) { return name->empty() || isObjectName(*name); });
}

}  // namespace

Outcome changeCluster(const ConnectionOptions& connection, ClusterWatch& watch,
                      const console::ClusterChange& change, const ChangeBounds& bounds) {
  if (!namesObjects(change.target))
    return Error{ErrorCode::kNotFound, "there is no object of that name; nothing was changed"};
  ConnectionOptions own = connection;
  if (!change.token.empty()) own.viewer_token = change.token;
  Result<kube::Access> access = accessFor(own);
  if (!access) return access.error();
  kube::ClientOptions terms;
  terms.tries = 1;
  terms.bound = std::min(bounds.exchange, own.with({}).bound);
  const Result<std::unique_ptr<KubeApi>> api = KubeApi::open(std::move(*access), terms);
  if (!api) return api.error();
  return Changer(**api, watch, change, bounds).make();
}

}  // namespace divvy::cli
