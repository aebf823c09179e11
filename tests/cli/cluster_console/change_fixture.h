// Changes that viewers of a console request, at a fake API server.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "cluster_console/cluster_changes.h"
#include "json/path.h"
#include "kube/resize_request.h"
#include "served_api.h"

namespace divvy::cli {

// A node with two devices, a pod with a share of the first one, and a queue.
class ServedChanges : public ::testing::Test {
 protected:
  using ClusterChange = console::ClusterChange;
  using ClusterChangeKind = console::ClusterChangeKind;
  using ClusterChangeOutcome = console::ClusterChangeOutcome;
  using ClusterChangeState = console::ClusterChangeState;
  using FakeApi = test::FakeApi;
  using FakeCall = test::FakeCall;
  using Fault = test::Fault;
  using FaultKind = test::FaultKind;

  static constexpr std::chrono::seconds kPatience{20};
  static constexpr const char* kNode = "/api/v1/nodes/n";
  static constexpr const char* kPod = "/api/v1/namespaces/lab/pods/p";
  static constexpr const char* kEviction = "/api/v1/namespaces/lab/pods/p/eviction";
  static constexpr const char* kQueue = "/apis/divvy.dev/v1alpha1/queues/research";
  static constexpr const char* kEvents = "/api/v1/namespaces/lab/events";
  static constexpr const char* kCordonKey = "hami.io/device-cordon";
  static constexpr ClusterChangeKind kAllKinds[] = {
      ClusterChangeKind::kResize, ClusterChangeKind::kPriority, ClusterChangeKind::kCordon,
      ClusterChangeKind::kEvict,  ClusterChangeKind::kNotice,   ClusterChangeKind::kQueue,
  };

  ServedChanges() {
    boost::json::object pod = test::boundPod("p", "n", 0);
    pod["metadata"].get_object()["ownerReferences"] = boost::json::array{
        boost::json::object{{"kind", "StatefulSet"}, {"name", "train"}, {"controller", true}}};
    api_.set(kNode, test::gpuNode("n", 2));
    api_.set(kPod, pod);
    api_.set(kQueue, {{"spec",
                       {{"guarantee", boost::json::array{boost::json::object{{"model", "*"},
                                                                             {"gpuMilli", 1000}}}},
                        {"weight", 2}}}});
    bounds_.resize = std::chrono::milliseconds(300);
    options_.cluster.connection.kubeconfig = api_.kubeconfig();
    Result<std::unique_ptr<ClusterWatch>> watch = ClusterWatch::start(options_);
    EXPECT_TRUE(watch) << watch.error().message();
    watch_ = std::move(*watch);
    EXPECT_TRUE(until([](const auto& now) { return now.shares.size() == 1 && now.known(); }));
  }
  bool until(const std::function<bool(const console::ClusterReading&)>& condition) {
    for (const auto end = std::chrono::steady_clock::now() + kPatience;
         std::chrono::steady_clock::now() < end; std::this_thread::yield()) {
      const Result<console::ClusterReading> reading = watch_->read(kPatience);
      if (reading && condition(*reading)) return true;
    }
    return false;
  }

  static ClusterChange changeOf(ClusterChangeKind kind, bool dry_run) {
    ClusterChange change;
    change.kind = kind;
    change.user = "jane";
    change.dry_run = dry_run;
    const bool cordon = kind == ClusterChangeKind::kCordon || kind == ClusterChangeKind::kUncordon;
    if (kind == ClusterChangeKind::kQueue) {
      change.target.queue = "research";
      change.to.queue.weight = 5;
    } else if (cordon) {
      change.target.node = "n";
      change.target.device = "GPU-n-0";
    } else {
      change.target.namespace_name = "lab";
      change.target.pod = "p";
    }
    if (kind == ClusterChangeKind::kResize) change.to.mebibytes = 4096;
    if (kind == ClusterChangeKind::kPriority) change.to.priority = "low";
    if (kind == ClusterChangeKind::kResize || kind == ClusterChangeKind::kPriority)
      change.target.container = "main";
    if (kind == ClusterChangeKind::kNotice) change.to.text = "please save your work";
    return change;
  }
  Result<ClusterChangeOutcome> make(const ClusterChange& change) {
    return changeCluster(options_.cluster.connection, *watch_, change, bounds_);
  }
  ClusterChangeOutcome made(const ClusterChange& change) {
    Result<ClusterChangeOutcome> outcome = make(change);
    EXPECT_TRUE(outcome) << outcome.error().message();
    return outcome ? std::move(*outcome) : ClusterChangeOutcome();
  }

  // Requests with an effect, dry runs or not, since the last time.
  std::vector<FakeCall> writes(bool dry) {
    std::vector<FakeCall> found;
    api_.use([&](FakeApi& api) {
      for (const FakeCall& call : api.calls())
        if (call.method != "GET" && (call.query == "dryRun=All") == dry) found.push_back(call);
    });
    return found;
  }
  boost::json::object object(const char* path) {
    boost::json::object copy;
    api_.use([&](FakeApi& api) { copy = *api.find(path); });
    return copy;
  }
  // The one Event that was written below the path.
  boost::json::value event(const std::string& events = kEvents) {
    boost::json::value found;
    for (const FakeCall& call : writes(false))
      if (call.path == events) found = call.json();
    EXPECT_FALSE(found.is_null()) << "no Event in " << events;
    return found;
  }
  void refuse(const std::string& method, const std::string& path, unsigned status,
              const std::string& body, unsigned times = 1) {
    api_.use([&](FakeApi& api) {
      Fault fault;
      fault.method = method;
      fault.path = path;
      fault.kind = FaultKind::kStatus;
      fault.status = status;
      fault.body = body;
      fault.times = times;
      api.inject(fault);
    });
  }
  void forbid(const std::string& method, const std::string& path, unsigned times = 1) {
    refuse(method, path, 403,
           R"({"kind":"Status","reason":"Forbidden","message":"jane cannot do that"})", times);
  }
  // The scheduler's answer, at the next reading of the pod after a request.
  void answerResize(kube::ResizePhase phase, const std::string& reason = "",
                    const std::string& message = "") {
    api_.use([=](FakeApi& api) {
      Fault fault;
      fault.method = "GET";
      fault.path = kPod;
      fault.times = 100;
      fault.before = [&api, phase, reason, message] {
        const Result<kube::ResizeRequest> request =
            kube::decodeShareChange(api.annotation(kPod, kube::kChangeKey));
        if (!request) return;
        kube::ResizeState state;
        state.id = request->id;
        state.phase = phase;
        state.reason = reason;
        state.message = message;
        if (phase == kube::ResizePhase::kAdmitted) {
          state.token = "t-1";
          state.change = *request;
          state.assignment = api.annotation(kPod, "hami.io/vgpu-devices-allocated");
          state.since = 1'767'323'045;
        }
        api.annotate(kPod, kube::kChangeStateKey, kube::encode(state));
      };
      api.inject(fault);
    });
  }

  test::ServedApi api_;
  ClusterWatch::Options options_;
  std::unique_ptr<ClusterWatch> watch_;
  ChangeBounds bounds_;
};

}  // namespace divvy::cli
