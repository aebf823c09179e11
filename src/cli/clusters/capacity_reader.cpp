#include "clusters/capacity_reader.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include <boost/json.hpp>

#include "base/http_status.h"
#include "kube/call.h"
#include "kubernetes/kube_api.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kAtOnce = 16;
constexpr std::size_t kMaxContexts = 100;
// Only one of a scheduler's replicas leads, and the Service chooses one by chance.
constexpr unsigned kTries = 8;
constexpr std::uint64_t kBoundMs = 3000;  // for one reply

// A cluster, by the scheduler's Service behind its API server.
class SchedulerProxy {
 public:
  SchedulerProxy(KubeApi& api, const ClustersOptions& options)
      : api_(api),
        path_("/api/v1/namespaces/" + options.namespace_name + "/services/" + options.service +
              ":metrics/proxy") {}

  Result<std::string> ask(kube::Verb verb, const std::string& what, const std::string& body = "") {
    std::string said = "no answer";
    ErrorCode code = ErrorCode::kUnavailable;
    for (unsigned tried = 0; tried < kTries; ++tried) {
      kube::Call call{verb, path_ + what, body};
      std::optional<kube::Reply> reply;
      std::vector<kube::Call> calls;
      calls.push_back(std::move(call));
      const Result<void> sent = api_.sendAll(
          std::move(calls), 1, [&](std::size_t, const kube::Reply& one) -> Result<void> {
            reply = one;
            return {};
          });
      if (!sent) return sent.error();
      if (reply && reply->good()) return std::move(reply->body);
      if (!reply) continue;
      const Error error = kube::errorOf(*reply);
      said = error.message();
      code = error.code();
      if (code == ErrorCode::kNotFound)
        return Error{code, said +
                               "; is Divvy's scheduler there? --divvy-namespace and "
                               "--scheduler-service name another one"};
      // The client has waited and asked again after 429.
      if (code != ErrorCode::kUnavailable || reply->status == http_status::kTooManyRequests)
        return error;
    }
    return Error{code, said};
  }

 private:
  KubeApi& api_;
  std::string path_;
};

Result<ClusterCapacity> readOne(const std::string& context, const ClustersOptions& options,
                                const std::string& pod) {
  ConnectionOptions connection = options.connection;
  connection.words.context = context;
  if (!connection.bound_ms) connection.bound_ms = kBoundMs;
  Result<kube::Access> access = accessFor(connection);
  if (!access) return access.error();
  kube::ClientOptions terms;
  terms.tries = 4;
  const Result<std::unique_ptr<KubeApi>> api =
      KubeApi::open(std::move(*access), connection.with(terms));
  if (!api) return api.error();
  SchedulerProxy scheduler(**api, options);
  const Result<std::string> text = scheduler.ask(kube::Verb::kGet, "/capacity");
  if (!text) return text.error();
  Result<ClusterCapacity> capacity = capacityOf(*text);
  if (!capacity || pod.empty()) return capacity;
  const Result<std::string> answer = scheduler.ask(kube::Verb::kPost, "/fit", pod);
  if (!answer) return answer.error();
  const Result<FitCount> fit = fitCountOf(*answer);
  if (!fit) return fit.error();
  capacity->asked = *fit;
  return capacity;
}

Result<std::vector<std::string>> contextsOf(const ClustersOptions& options) {
  if (!options.contexts.empty()) return options.contexts;
  const char* named = std::getenv("KUBECONFIG");
  const char* home = std::getenv("HOME");
  const std::string paths = !options.connection.kubeconfig.empty() ? options.connection.kubeconfig
                            : named != nullptr && *named != '\0'
                                ? std::string(named)
                                : std::string(home == nullptr ? "" : home) + "/.kube/config";
  Result<std::vector<std::string>> all = kube::kubeconfigContexts(paths);
  if (!all) return all;
  if (all->empty())
    return Error{ErrorCode::kUsage, paths +
                                        " has no context; add one per cluster, or name others "
                                        "with --kubeconfig"};
  return all;
}

}  // namespace

Result<std::vector<ClusterCapacity>> readCapacities(const ClustersOptions& options,
                                                    const json::object* pod) {
  for (const std::string& name : {options.namespace_name, options.service})
    if (!isObjectName(name))
      return Error{ErrorCode::kUsage,
                   "\"" + name + "\" is not the name of an object; letters, digits, - and . are"};
  const Result<std::vector<std::string>> contexts = contextsOf(options);
  if (!contexts) return contexts.error();
  if (contexts->size() > kMaxContexts)
    return Error{ErrorCode::kUsage, std::to_string(contexts->size()) +
                                        " contexts are too many; accepted: at most " +
                                        std::to_string(kMaxContexts) + " (--contexts)"};
  const std::string body = pod == nullptr ? "" : json::serialize(*pod);
  std::vector<ClusterCapacity> all(contexts->size());
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < std::min(kAtOnce, all.size()); ++i)
      workers.emplace_back([&] {
        for (std::size_t at = next++; at < all.size(); at = next++) {
          Result<ClusterCapacity> one = readOne((*contexts)[at], options, body);
          if (one) all[at] = std::move(*one);
          if (!one) all[at].problem = one.error().message();
          all[at].name = (*contexts)[at];
        }
      });
  }
  return all;
}

}  // namespace divvy::cli
