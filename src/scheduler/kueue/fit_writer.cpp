#include "kueue/fit_writer.h"

#include <boost/json.hpp>

#include "base/http_status.h"
#include "base/rfc3339.h"
#include "base/utf8_text.h"
#include "log/log.h"
#include "runtime/clock.h"
#include "scheduler/pod_group.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace bj = boost::json;

constexpr const char* kManager = "/status?fieldManager=divvy-fit&force=true";
constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::size_t kMaxMessage = 4'096;

}  // namespace

std::string fitPatch(const kube::KueueWorkload& workload, const std::vector<std::string>& checks,
                     const FitDecision& decision, std::int64_t seconds) {
  bj::array updates;
  for (const PodSetGang& one : decision.gangs) {
    bj::object annotations{{kGangKey, one.gang}};
    if (one.least > 0) annotations[kGangLeastKey] = std::to_string(one.least);
    updates.push_back(bj::object{{"name", one.pod_set}, {"annotations", std::move(annotations)}});
  }
  bj::array states;
  for (const std::string& check : checks) {
    bj::object state{{"name", check},
                     {"state", nameOf(decision.state)},
                     {"message", utf8Prefix(decision.message, kMaxMessage)},
                     {"lastTransitionTime", formatRfc3339(seconds)}};
    if (decision.state == FitState::kRetry) state["requeueAfterSeconds"] = decision.retry_s;
    if (!updates.empty()) state["podSetUpdates"] = updates;
    states.push_back(std::move(state));
  }
  // With the version: the decision is for the quota that this version has.
  return bj::serialize(
      bj::object{{"apiVersion", kube::kKueueVersion},
                 {"kind", "Workload"},
                 {"metadata", bj::object{{"name", workload.meta.name},
                                         {"namespace", workload.meta.namespace_name},
                                         {"uid", workload.meta.uid},
                                         {"resourceVersion", workload.meta.version}}},
                 {"status", bj::object{{"admissionChecks", std::move(states)}}}});
}

asio::awaitable<FitWrite> FitWriter::write(const kube::KueueWorkload& workload,
                                           const std::vector<std::string>& checks,
                                           const FitDecision& decision) {
  kube::Call call{kube::Verb::kPatch, "/apis/" + std::string(kube::kKueueVersion) + "/namespaces/" +
                                          workload.meta.namespace_name + "/workloads/" +
                                          workload.meta.name + kManager};
  call.type = kube::kApplyPatch;
  call.body = fitPatch(workload, checks, decision, wallNanoseconds() / kNsPerS);
  call.still = may_act_;
  const Result<kube::Reply> reply = co_await client_.send(std::move(call));
  if (reply && reply->good()) co_return FitWrite::kWritten;
  if (reply && reply->status == http_status::kConflict) co_return FitWrite::kConflict;
  const Error error = reply ? kube::errorOf(*reply) : reply.error();
  if (error.code() == ErrorCode::kNotFound) co_return FitWrite::kGone;
  log::warn("cannot write the admission check of a workload",
            {{"workload", workload.meta.namespace_name + '/' + workload.meta.name},
             {"error", error.message()}});
  co_return FitWrite::kFailed;
}

asio::awaitable<void> FitWriter::activate(kube::KueueCheck check) {
  kube::Call call{kube::Verb::kPatch,
                  std::string(kube::kKueueChecksPath) + '/' + check.meta.name + kManager};
  call.type = kube::kApplyPatch;
  const bj::object condition{
      {"type", "Active"},
      {"status", check.parameters ? "False" : "True"},
      {"reason", check.parameters ? "ParametersNotAccepted" : "Active"},
      {"message", check.parameters ? "spec.parameters is not accepted; remove it"
                                   : "Divvy's scheduler evaluates it"},
      {"lastTransitionTime", formatRfc3339(wallNanoseconds() / kNsPerS)}};
  call.body = bj::serialize(
      bj::object{{"apiVersion", kube::kKueueVersion},
                 {"kind", "AdmissionCheck"},
                 {"metadata", bj::object{{"name", check.meta.name}, {"uid", check.meta.uid}}},
                 {"status", bj::object{{"conditions", bj::array{condition}}}}});
  call.still = may_act_;
  const Result<bj::value> written = co_await client_.ask(std::move(call));
  if (!written && written.error().code() != ErrorCode::kNotFound)
    log::warn("cannot write the status of an AdmissionCheck",
              {{"admissioncheck", check.meta.name}, {"error", written.error().message()}});
}

}  // namespace divvy::scheduler
