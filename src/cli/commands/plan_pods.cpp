// `divvy plan`: nodes and victims of the pods of manifests, one after another.
#include <cstdio>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "commands/commands.h"
#include "kubernetes/pod_plan.h"
#include "view/table.h"

namespace divvy::cli {

namespace json = boost::json;

int planPods(const PlanPodsOptions& options) {
  Result<Manifests> manifests = readManifests(options.files);
  if (!manifests) return fail(manifests.error());
  Result<std::unique_ptr<Cluster>> cluster = Cluster::read(options.cluster);
  if (!cluster) return fail(cluster.error());
  (*cluster)->readMore();
  printTroubles(**cluster);
  const Result<std::vector<PodPlan>> plans =
      planManifests(**cluster, std::move(*manifests), options.cluster.namespace_name);
  if (!plans) return fail(plans.error());
  bool all = true;
  json::array list;
  Table table({"POD", "NODE", "DEVICES"});
  for (const PodPlan& planned : *plans) {
    all = all && works(planned);
    list.push_back(planJson(planned));
    const auto& placement = planned.decision.placement;
    table.add({planned.decision.name, placement ? placement->node.text : "-", noteOf(planned)});
  }
  if (options.output.json) {
    std::printf("%s\n", json::serialize(list).c_str());
  } else {
    std::fputs(table.text(options.output.headers, 0).c_str(), stdout);
  }
  return all ? 0 : kNegativeResult;
}

}  // namespace divvy::cli
