// `divvy cordon`, `divvy uncordon` and `divvy drain`: cordon devices of a cluster, and evict pods
// from them. The cordon is an annotation of the node, written with the rights of the user.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "commands/commands.h"
#include "json/path.h"
#include "kubernetes/cluster.h"
#include "kubernetes/cordon_plan.h"
#include "kubernetes/device_cordon.h"

namespace divvy::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 500;
// A pod that was reserved a device before the scheduler saw the cordon is bound by then.
constexpr auto kSettled = std::chrono::seconds(3);
constexpr const char* kConflict = "409 Conflict";

std::string countOf(std::size_t count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

struct DrainedPod {
  kube::Pod pod;
  bool accepted = false;    // its eviction was accepted
  std::string last_reason;  // last reason why it was not evicted yet
};

std::string nameOf(const kube::Pod& pod) {
  return pod.meta.namespace_name + '/' + pod.meta.name;
}

std::vector<DrainedPod> podsToDrain(const Cluster& cluster, const std::string& node,
                                    const Cordons& cordons) {
  std::set<std::string> devices, pods;
  for (const auto& [key, items] : cordons) devices.insert(items.begin(), items.end());
  for (const scheduler::AllocatedShare& one : cluster.cache().pods().shares())
    if (one.node == node && devices.contains(one.uuid))
      pods.insert(one.namespace_name + '/' + one.pod);
  std::vector<DrainedPod> draining;
  for (const auto& [uid, one] : cluster.pods())
    if (!one.pod.node.empty() && pods.contains(nameOf(one.pod)))
      draining.push_back({one.pod, false, ""});
  return draining;
}

// Refuses pods that may only be evicted with --force, and pods that cannot be evicted.
Result<void> checkAll(const std::vector<DrainedPod>& draining, bool force) {
  std::string text;
  for (const DrainedPod& one : draining)
    if (const std::string why = whyNotToEvict(one.pod);
        !why.empty() && (!force || isStatic(one.pod)))
      text += (text.empty() ? "" : "; ") + nameOf(one.pod) + ": " + why;
  if (text.empty()) return {};
  return Error{ErrorCode::kUnsupported,
               "some pods must not be evicted: " + text +
                   (force ? "" : "; accepted: --force, which evicts what can be evicted")};
}

class Drain {
 public:
  Drain(KubeApi& api, std::vector<DrainedPod> draining, Clock::time_point end)
      : api_(api), draining_(std::move(draining)), end_(end) {}

  Result<void> run() {
    for (;;) {
      for (DrainedPod& one : draining_) advance(&one);
      if (refusal_) return *refusal_;
      std::erase_if(draining_, [](const DrainedPod& one) { return one.pod.meta.uid.empty(); });
      if (draining_.empty()) return {};
      if (Clock::now() >= end_) return late();
      poll(nullptr, 0, kPollMs);
    }
  }

 private:
  // A pod that was deleted no longer has this UID.
  void advance(DrainedPod* one) {
    if (one->accepted) {
      if (!isThere(one->pod)) finish(one);
      return;
    }
    const Result<kube::Eviction> ended =
        api_.evict({one->pod.meta.namespace_name, one->pod.meta.name, one->pod.meta.uid, {}});
    if (!ended) return report(one, ended.error().message());
    if (ended->end == kube::EvictionOutcome::kGone) return finish(one);
    // The pod was changed meanwhile.
    const bool later = ended->end == kube::EvictionOutcome::kForbidden ||
                       ended->why.find(kConflict) != std::string::npos;
    if (later) return report(one, ended->why);
    if (ended->end == kube::EvictionOutcome::kRefused) {
      refusal_ = Error{ErrorCode::kIo, nameOf(one->pod) + " cannot be evicted: " + ended->why};
      return;
    }
    one->accepted = true;
    report(one, "evicted");
  }

  // Without an answer nothing is known.
  bool isThere(const kube::Pod& pod) {
    const Result<boost::json::value> now =
        api_.call({kube::Verb::kGet,
                   "/api/v1/namespaces/" + pod.meta.namespace_name + "/pods/" + pod.meta.name});
    if (!now) return now.error().code() != ErrorCode::kNotFound;
    return textAt(*now, {"metadata", "uid"}) == pod.meta.uid;
  }

  void finish(DrainedPod* one) {
    printNote(nameOf(one->pod) + " is gone");
    one->pod.meta.uid.clear();
  }

  static void report(DrainedPod* one, const std::string& what) {
    if (one->last_reason == what) return;
    one->last_reason = what;
    printNote(nameOf(one->pod) + ": " + what);
  }

  Error late() const {
    std::string text;
    for (const DrainedPod& one : draining_)
      text += (text.empty() ? "" : "; ") + nameOf(one.pod) + ": " + one.last_reason;
    return {ErrorCode::kUnavailable,
            "pods remain at the end of --timeout; the devices stay cordoned: " + text};
  }

  KubeApi& api_;
  std::vector<DrainedPod> draining_;
  Clock::time_point end_;
  std::optional<Error> refusal_;  // final
};

// The devices of a pod that cannot be read are unknown.
Result<void> checkRead(const Cluster& cluster, bool force) {
  if (force || cluster.unreadPods().empty()) return {};
  return Error{ErrorCode::kCorrupt,
               "the devices of some pods cannot be read: " + cluster.unreadPods().front() +
                   "; accepted: --force, which ignores these pods"};
}

// Next round: pods that came while the last ones left.
Result<std::vector<DrainedPod>> listAgain(const CordonOptions& options, const Cordons& cordons) {
  const Result<std::unique_ptr<Cluster>> cluster = Cluster::read(options.cluster);
  if (!cluster) return cluster.error();
  if (const Result<void> read = checkRead(**cluster, options.force); !read) return read.error();
  return podsToDrain(**cluster, options.node, cordons);
}

void dryRun(const std::vector<DrainedPod>& draining) {
  for (const DrainedPod& one : draining) {
    const std::string why = whyNotToEvict(one.pod);
    const std::string note = isStatic(one.pod) ? " (not: " : " (with --force only: ";
    std::printf("%s%s\n", nameOf(one.pod).c_str(), why.empty() ? "" : (note + why + ')').c_str());
  }
}

Result<void> drain(Cluster& cluster, const CordonOptions& options, const Cordons& cordons) {
  std::vector<DrainedPod> draining = podsToDrain(cluster, options.node, cordons);
  if (options.dry_run) return dryRun(draining), Result<void>();
  if (const Result<void> read = checkRead(cluster, options.force); !read) return read;
  if (const Result<void> may = checkAll(draining, options.force); !may) return may;
  const Result<CordonOutcome> closed =
      writeCordons(cluster.api(), options.node, cordons, CordonChange::kClose);
  if (!closed) return closed.error();
  const auto end = Clock::now() + std::chrono::milliseconds(options.timeout_ms);
  const auto settled = Clock::now() + kSettled;
  std::size_t count = 0;
  do {
    count += draining.size();
    const Result<void> left = Drain(cluster.api(), std::move(draining), end).run();
    if (!left) return left;
    while (Clock::now() < settled) poll(nullptr, 0, kPollMs);
    Result<std::vector<DrainedPod>> others = listAgain(options, cordons);
    if (!others) return others.error();
    draining = std::move(*others);
    if (const Result<void> may = checkAll(draining, options.force); !may) return may;
  } while (!draining.empty());
  std::printf("%s left %s\n", countOf(count, "pod").c_str(), options.node.c_str());
  return {};
}

}  // namespace

int cordon(const CordonOptions& options) {
  const Result<std::unique_ptr<Cluster>> cluster = Cluster::read(options.cluster);
  if (!cluster) return fail(cluster.error());
  for (const std::string& trouble : (*cluster)->troubles()) printNote("not counted: " + trouble);
  const Result<Cordons> cordons =
      cordonsOf((*cluster)->cache().nodes().devicesOf(options.node), options.node, options.device,
                (*cluster)->terms().catalog);
  if (!cordons) return fail(cordons.error());
  if (options.what == CordonOptions::What::kDrain) {
    const Result<void> drained = drain(**cluster, options, *cordons);
    return drained ? 0 : fail(drained.error());
  }
  const bool close = options.what == CordonOptions::What::kCordon;
  const CordonChange open = options.device.empty() ? CordonChange::kOpenAll : CordonChange::kOpen;
  const Result<CordonOutcome> written =
      writeCordons((*cluster)->api(), options.node, *cordons, close ? CordonChange::kClose : open);
  if (!written) return fail(written.error());
  for (const auto& [key, items] : *cordons)
    for (const std::string& uuid : items)
      std::printf("%s/%s %s\n", options.node.c_str(), uuid.c_str(),
                  close ? "cordoned" : "uncordoned");
  return 0;
}

}  // namespace divvy::cli
