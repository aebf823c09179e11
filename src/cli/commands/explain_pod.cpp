// `divvy explain pod`: the result of a pod for each node of a cluster, and changes that would fit.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "commands/commands.h"
#include "engine/engine.h"
#include "json/path.h"
#include "kubernetes/device_classes.h"
#include "kubernetes/manifests.h"
#include "kubernetes/pod_explanation.h"
#include "scheduler/pod_group.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

// Above this number, nodes with the same result share a line.
constexpr std::size_t kMaxNodes = 8;

// ---- text --------------------------------------------------------------------------------------

std::string modelOf(const Cluster& cluster, const std::string& node, const std::string& uuid) {
  const engine::Node* known = cluster.cache().nodes().nodeNamed(node);
  if (known == nullptr) return "";
  for (const engine::Device& device : known->devices)
    if (device.uuid.text == uuid) return device.model.text;
  return "";
}

// Devices of one model with the same result share a line.
void addDevices(const Cluster& cluster, const scheduler::NodeVerdict& verdict, bool each,
                Table& table) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::size_t> counts;
  for (const engine::DeviceRefusal& one : verdict.refusal->devices) {
    std::vector<std::string> line{"  " + one.uuid.text,
                                  modelOf(cluster, verdict.node, one.uuid.text),
                                  std::string(engine::codeOf(one.why)), engine::text(one)};
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const auto& other) {
      return !each && std::equal(line.begin() + 1, line.end(), other.begin() + 1);
    });
    if (same == lines.end()) {
      lines.push_back(std::move(line));
      counts.push_back(1);
    } else {
      ++counts[static_cast<std::size_t>(same - lines.begin())];
    }
  }
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (counts[at] > 1) lines[at].front() = "  " + std::to_string(counts[at]) + " devices";
    table.add(lines[at]);
  }
}

void printNodes(const Cluster& cluster, const PodDecision& decision, const Output& output) {
  const bool all = output.wide || decision.nodes.size() <= kMaxNodes;
  std::map<std::string, std::size_t> same;
  for (const scheduler::NodeVerdict& one : decision.nodes) ++same[one.why];
  Table table({"NODE", "MODEL", "CODE", "VERDICT"});
  for (const scheduler::NodeVerdict& one : decision.nodes) {
    const std::size_t count = std::exchange(same[one.why], 0);
    if (!all && count == 0) continue;
    const std::string others =
        all || count == 1 ? "" : " (and " + std::to_string(count - 1) + " others)";
    table.add({one.node + others, "",
               one.refusal ? std::string(engine::codeOf(one.refusal->why)) : "",
               one.fits ? "fits" : one.why});
    if (one.refusal) addDevices(cluster, one, output.wide, table);
  }
  std::printf("\n%s", table.text(output.headers, 0).c_str());
}

void printFixes(const PodDecision& decision) {
  if (decision.fixes.empty()) return;
  std::printf("\nwould fit now, each alone:\n");
  for (const scheduler::Suggestion& one : decision.fixes) {
    std::printf(
        "  %s (%s%s)\n", engine::text(one.remedy, decision.containers).c_str(), one.node.c_str(),
        one.nodes == 1 ? "" : (" and " + std::to_string(one.nodes - 1) + " others").c_str());
  }
}

void printEndings(const scheduler::Victims& ends) {
  const std::string stay = protectedText(ends);
  if (!ends.node.empty() && ends.who.empty()) {
    std::printf("\nfits on %s once the pods that are terminating there have ended\n",
                ends.node.c_str());
  } else if (!ends.node.empty()) {
    std::printf("\nwould fit now, on %s, if %s ended\n", ends.node.c_str(),
                victimsText(ends.who).c_str());
  } else if (!stay.empty()) {
    std::printf("\ncannot preempt: of the pods of lower priority %s\n", stay.c_str());
  }
}

// `divvy scheduler --name` may have given Divvy's scheduler another name.
void printScheduler(const std::string& scheduler) {
  if (scheduler.empty()) return;
  std::printf(
      "its scheduler is %s, %s\n", scheduler.c_str(),
      scheduler == "default-scheduler"
          ? "which does not use Divvy"
          : "Divvy's is divvy-scheduler: unless both are the same, Divvy does not place this pod");
}

void print(const Cluster& cluster, const PodExplanation& explained, const Output& output) {
  const PodDecision& decision = explained.decision;
  const char* name = decision.name.c_str();
  if (!explained.bound.empty()) {
    std::printf("%s is on %s%s\n", name, explained.bound.c_str(),
                decision.ours ? "" : ", without devices");
  } else if (!decision.gated.empty()) {
    std::printf("%s is gated: %s\n", name, decision.gated.c_str());
  } else if (!decision.ours) {
    std::printf("%s requests no devices that Divvy places\n", name);
  } else if (decision.placement) {
    std::printf("%s fits now, on %s\n", name, decision.placement->node.text.c_str());
  } else {
    std::printf("%s fits on no node%s: %s\n", name,
                neverFits(decision) ? ", even without other pods" : " now",
                reasonsText(decision).c_str());
  }
  for (const std::string& line : sharesText(decision)) std::printf("  %s\n", line.c_str());
  for (const auto& [key, value] : explained.models)
    std::printf("selects models by %s: %s\n", key.c_str(), value.c_str());
  printScheduler(explained.scheduler);
  if (!explained.hazard.empty()) std::printf("%s\n", explained.hazard.c_str());
  if (!explained.idle.empty()) std::printf("requests no pods now: %s\n", explained.idle.c_str());
  // Divvy's own gate was explained already.
  for (const std::string& gate : explained.gates)
    if (gate != scheduler::kQueueGate) std::printf("held by scheduling gate %s\n", gate.c_str());
  if (!explained.condition_text.empty())
    std::printf("last status: %s\n", explained.condition_text.c_str());
  if (!decision.nodes.empty()) printNodes(cluster, decision, output);
  printFixes(decision);
  printEndings(decision.ends);
}

// ---- which pods -------------------------------------------------------------------------------

std::string namespaceOf(const ExplainPodOptions& options, KubeApi& api,
                        const std::string& written) {
  if (!options.cluster.namespace_name.empty()) return options.cluster.namespace_name;
  return written.empty() ? api.namespaceName() : written;
}

Result<DryPod> readPod(KubeApi& api, const ExplainPodOptions& options) {
  const std::string ns = namespaceOf(options, api, options.namespace_name);
  kube::Call call{kube::Verb::kGet, "/api/v1/namespaces/" + ns + "/pods/" + options.name};
  Result<json::value> object = api.call(std::move(call));
  if (!object) return object.error();
  Result<kube::Pod> pod = kube::podOf(*object);
  if (!pod) return pod.error();
  return DryPod{std::move(*object), std::move(*pod)};
}

// `idle`: for each pod the reason why it does not exist now.
Result<std::vector<DryPod>> podsToExplain(Cluster& cluster, const ExplainPodOptions& options,
                                          Manifests manifests, std::vector<std::string>* idle) {
  KubeApi& api = cluster.api();
  std::vector<DryPod> pods;
  if (options.files.empty()) {
    Result<DryPod> pod = readPod(api, options);
    if (!pod) return pod.error();
    pods.push_back(std::move(*pod));
    idle->resize(1);
    return pods;
  }
  addGroups(cluster, manifests.groups, options.cluster.namespace_name);
  for (ManifestPod& one : manifests.pods) {
    Result<DryPod> pod =
        dryRun(api, std::move(one.object), namespaceOf(options, api, one.namespace_name));
    if (!pod) return Error(pod.error()).context(one.name);
    pods.push_back(std::move(*pod));
    idle->push_back(std::move(one.idle));
  }
  return pods;
}

// If the user may not list nodes, the scheduler's condition is shown.
int withoutCluster(const ExplainPodOptions& options, const Error& why) {
  if (!options.files.empty()) return fail(why);
  Result<std::unique_ptr<KubeApi>> api = KubeApi::open(options.cluster.connection);
  if (!api) return fail(why);
  const Result<DryPod> pod = readPod(**api, options);
  if (!pod) return fail(pod.error());
  const std::string condition_text = conditionTextOf(pod->object);
  if (!condition_text.empty() && !options.output.json)
    std::printf("last status: %s\n", condition_text.c_str());
  return fail(why);
}

}  // namespace

int explainPod(const ExplainPodOptions& options) {
  Result<Manifests> manifests =
      options.files.empty() ? Result<Manifests>(Manifests{}) : readManifests(options.files);
  if (!manifests) return fail(manifests.error());
  Result<std::unique_ptr<Cluster>> cluster = Cluster::read(options.cluster);
  if (!cluster) return withoutCluster(options, cluster.error());
  (*cluster)->readMore();
  std::vector<std::string> idle;
  const Result<std::vector<DryPod>> pods =
      podsToExplain(**cluster, options, std::move(*manifests), &idle);
  if (!pods) return fail(pods.error());
  printTroubles(**cluster);
  bool fits = true;
  DeviceClassHazards hazards((*cluster)->api());
  json::array all;
  for (const DryPod& pod : *pods) {
    const std::string hazard = pod.pod.node.empty() ? hazards.of(pod.pod) : "";
    Result<PodExplanation> explained = explainOne(**cluster, pod, *pods, hazard);
    if (!explained) return fail(Error(explained.error()).context(pod.pod.meta.name));
    explained->idle = idle[static_cast<std::size_t>(&pod - pods->data())];
    const PodDecision& decision = explained->decision;
    fits = fits && (!explained->bound.empty() || decision.placement ||
                    (!decision.ours && decision.gated.empty()));
    if (options.output.json) {
      all.push_back(explanationJson(*explained));
    } else {
      if (&pod != &pods->front()) std::printf("\n");
      print(**cluster, *explained, options.output);
    }
    // Each pod by itself: it takes nothing from the next one.
    if (explained->bound.empty()) (*cluster)->unplace(pod.pod.meta.uid);
  }
  if (options.output.json) std::printf("%s\n", json::serialize(all).c_str());
  return fits ? 0 : kNegativeResult;
}

}  // namespace divvy::cli
