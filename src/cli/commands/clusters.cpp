// `divvy clusters`: the free capacity of several clusters, and where a pod would fit.
#include <algorithm>
#include <cstdio>

#include <boost/json.hpp>

#include "clusters/capacity_reader.h"
#include "clusters/clusters_text.h"
#include "commands/commands.h"
#include "kubernetes/manifests.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

// The first pod of the manifests that requests something.
Result<std::optional<boost::json::object>> questionOf(const ClustersOptions& options) {
  if (options.files.empty()) return std::optional<boost::json::object>();
  Result<Manifests> manifests = readManifests(options.files);
  if (!manifests) return manifests.error();
  const std::vector<ManifestPod>& pods = manifests->pods;
  const auto differs = [&](const ManifestPod& pod) {
    return pod.object.at("spec") != pods.front().object.at("spec");
  };
  if (std::any_of(pods.begin(), pods.end(), differs))
    return Error{ErrorCode::kUsage,
                 "the manifests have different pods; accepted: one pod, or one workload. "
                 "`divvy plan` plans several in one cluster"};
  return std::optional(std::move(manifests->pods.front().object));
}

}  // namespace

int clusters(const ClustersOptions& options) {
  const Result<std::optional<boost::json::object>> question = questionOf(options);
  if (!question) return fail(question.error());
  Result<std::vector<ClusterCapacity>> found =
      readCapacities(options, *question ? &**question : nullptr);
  if (!found) return fail(found.error());
  if (*question) sortByFit(*found);
  const std::size_t width = options.output.wide ? 0 : outputWidth();
  const std::string text = options.output.json
                               ? clustersJson(*found)
                               : clustersText(*found, options.output.headers, width);
  std::fputs(text.c_str(), stdout);
  const bool any_known = std::any_of(found->begin(), found->end(),
                                     [](const auto& one) { return one.problem.empty(); });
  if (!any_known) return 1;
  const bool fits = std::any_of(found->begin(), found->end(), [](const ClusterCapacity& one) {
    return one.asked && one.asked->fit.value_or(0) > 0;
  });
  return *question && !fits ? kNegativeResult : 0;
}

}  // namespace divvy::cli
