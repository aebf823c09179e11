// `divvy plan`: where pods of manifests would go, one after the other, and who would have to end.
#include <cstdio>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "cluster_decision.h"
#include "commands.h"
#include "manifests.h"
#include "table.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

struct Planned {
  PodDecision decision;
  std::vector<std::string> ended;  // names of who would have to end for it
  std::string ended_text;
  std::string refused;  // it would not even be made
};

// What ended for it stays ended for those who come after.
Result<void> preempt(Cluster& cluster, const DryPod& pod, Planned* planned) {
  if (planned->decision.placement || planned->decision.victims.empty()) return {};
  const std::vector<std::string> victims = planned->decision.victims;
  planned->ended_text = victimsText(cluster, victims);
  for (const std::string& uid : victims) planned->ended.push_back(cluster.nameOf(uid));
  for (const std::string& uid : victims) cluster.end(uid);
  Result<PodDecision> again = decideFor(cluster, pod, false);
  if (!again) return again.error();
  planned->decision = std::move(*again);
  return {};
}

Result<Planned> planOne(Cluster& cluster, WantedPod wanted, const std::string& space) {
  Planned planned;
  planned.decision.name = space + '/' + wanted.name;
  Result<DryPod> pod = dryRun(cluster.api(), std::move(wanted.object), space);
  if (!pod && pod.error().code() == ErrorCode::kUnavailable) return pod.error();
  if (!pod) {
    planned.refused = pod.error().message();
    return planned;
  }
  Result<PodDecision> decision = decideFor(cluster, *pod, false);
  if (!decision && decision.error().code() == ErrorCode::kUsage) {
    planned.refused = decision.error().message();
    return planned;
  }
  if (!decision) return decision.error();
  planned.decision = std::move(*decision);
  const Result<void> room = preempt(cluster, *pod, &planned);
  if (!room) return room.error();
  return planned;
}

bool works(const Planned& planned) {
  return planned.refused.empty() && (!planned.decision.ours || planned.decision.placement);
}

std::string noteOf(const Planned& planned) {
  if (!planned.refused.empty()) return planned.refused;
  if (!planned.decision.ours) return "asks for no devices that Divvy places";
  if (!planned.decision.placement) return reasonsText(planned.decision);
  std::string note;
  for (const std::string& line : sharesText(planned.decision))
    note += (note.empty() ? "" : "; ") + line;
  if (!planned.ended.empty()) note += "; once " + planned.ended_text + " ended";
  return note;
}

json::value jsonOf(const Planned& planned) {
  const PodDecision& decision = planned.decision;
  json::object pod{{"pod", decision.name}, {"fits", works(planned)}};
  if (decision.placement) {
    pod["node"] = decision.placement->node.text;
    json::array devices;
    for (const auto& container : decision.placement->containers)
      for (const engine::Share& one : container) devices.push_back(one.uuid.text.c_str());
    pod["devices"] = std::move(devices);
  }
  json::array ended;
  for (const std::string& name : planned.ended) ended.push_back(name.c_str());
  pod["ended"] = std::move(ended);
  if (!works(planned)) pod["why"] = noteOf(planned);
  return pod;
}

}  // namespace

int planPods(const PlanPodsOptions& options) {
  Result<Manifests> manifests = readManifests(options.files);
  if (!manifests) return fail(manifests.error());
  Result<std::unique_ptr<Cluster>> cluster = Cluster::read(options.cluster);
  if (!cluster) return fail(cluster.error());
  for (const std::string& trouble : (*cluster)->troubles()) say("not counted: " + trouble);
  bool all = true;
  json::array told;
  Table table({"POD", "NODE", "DEVICES"});
  for (WantedPod& wanted : manifests->pods) {
    const std::string space = !options.cluster.space.empty() ? options.cluster.space
                              : !wanted.space.empty()        ? wanted.space
                                                             : (*cluster)->api().space();
    const std::string name = wanted.name;
    const Result<Planned> planned = planOne(**cluster, std::move(wanted), space);
    if (!planned) return fail(Error(planned.error()).context(name));
    all = all && works(*planned);
    told.push_back(jsonOf(*planned));
    const auto& placement = planned->decision.placement;
    table.add({planned->decision.name, placement ? placement->node.text : "-", noteOf(*planned)});
  }
  if (options.output.json) {
    std::printf("%s\n", json::serialize(told).c_str());
  } else {
    std::fputs(table.text(options.output.headers, 0).c_str(), stdout);
  }
  return all ? 0 : 1;
}

}  // namespace divvy::cli
