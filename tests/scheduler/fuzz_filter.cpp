// Any bytes as a body of /filter: refused with a reason, or answered with JSON; names are read as a
// reader of all of JSON reads them. The pod is then asked for on all of 1,000 nodes. The oracle is
// time: no request costs more than 50 ms of processor time.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "cluster_of_nodes.h"
#include "cost_bound.h"
#include "extender/protocol.h"

using namespace divvy;
using namespace divvy::scheduler;
namespace json = boost::json;

namespace {

constexpr std::chrono::nanoseconds kBound = std::chrono::milliseconds(50);

void need(bool so) {
  if (!so) std::abort();
}

void checkNames(std::string_view body, const ExtenderArgs& ask) {
  boost::system::error_code fault;
  const json::value all = json::parse(json::string_view(body.data(), body.size()), fault);
  if (fault) return;  // what nobody reads may be wrong
  const json::value* names = all.get_object().if_contains("NodeNames");
  if (names == nullptr || !names->is_array()) return;
  need(names->get_array().size() == ask.names.size());
  for (std::size_t at = 0; at < ask.names.size(); ++at)
    need(std::string_view(names->get_array()[at].get_string()) == ask.names[at]);
}

void checkAnswer(const std::string& answer) {
  boost::system::error_code fault;
  const json::value said = json::parse(answer, fault);
  need(!fault && said.is_object() && said.get_object().contains("Error"));
}

void ask(const ExtenderArgs& ask, SchedulerCache& cache) {
  const Result<FilterResult> supposed = cache.pods().simulateFit(ask.pod, ask.nodes);
  const Result<FilterResult> all = cache.fitting(ask.pod, ask.names);
  const Result<FilterResult> one = cache.filterAndReserve(ask.pod, ask.names, {1});
  for (const Result<FilterResult>* choice : {&supposed, &all, &one})
    if (*choice) checkAnswer(filterAnswer(ask, **choice));
  checkAnswer(filterNever(ask, "never"));
  const Result<std::vector<unsigned>> scores = cache.pods().scores(ask.pod, ask.names);
  if (!scores) return;
  boost::system::error_code fault;
  const json::value said = json::parse(prioritizeAnswer(ask, *scores), fault);
  need(!fault && said.is_array() && said.get_array().size() == ask.names.size());
}

// Where it is chosen it fits, whichever way it is asked.
void askAll(const kube::Pod& pod, ClusterOfNodes& cluster) {
  SchedulerCache& cache = cluster.cache();
  Result<FilterResult> fitting = Error{ErrorCode::kInternal, ""}, chosen = fitting;
  costsAtMost(kBound, "fitting", [&] { fitting = cache.fitting(pod, cluster.names()); });
  costsAtMost(kBound, "choose",
              [&] { chosen = cache.filterAndReserve(pod, cluster.names(), {1}); });
  costsAtMost(kBound, "scores", [&] { (void)cache.pods().scores(pod, cluster.names()); });
  need(fitting.has_value() == chosen.has_value());
  if (!chosen || !chosen->ours) return;
  need(chosen->node.has_value() == !fitting->fitting.empty());
  const auto& all = fitting->fitting;
  need(!chosen->node || std::find(all.begin(), all.end(), *chosen->node) != all.end());
}

}  // namespace

// Before the first input, whose time is measured.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  (void)ClusterOfNodes::instance();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ClusterOfNodes& cluster = ClusterOfNodes::instance();
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  Result<ExtenderArgs> request = parseFilter(body);
  if (!request) {
    need(!request.error().message().empty());
    return 0;
  }
  checkNames(body, *request);
  request->pod = cluster.fresh(request->pod);
  costsAtMost(kBound, "filter", [&] { ask(*request, cluster.cache()); });
  cluster.forget(request->pod);
  const kube::Pod pod = cluster.fresh(request->pod);
  askAll(pod, cluster);
  cluster.forget(pod);
  return 0;
}
