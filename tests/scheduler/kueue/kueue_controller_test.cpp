// The admission check of Kueue's workloads, written to a fake API server.
#include "kueue/kueue_controller.h"

#include <algorithm>

#include "controller_fixture.h"
#include "kueue/fit_writer.h"
#include "queue/workload_reservations.h"
#include "runtime/clock.h"
#include "runtime/informers.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string checkPath(const std::string& name) {
  return std::string(kube::kKueueChecksPath) + '/' + name;
}

std::string workloadPath(const std::string& name) {
  return "/apis/kueue.x-k8s.io/v1beta2/namespaces/lab/workloads/" + name;
}

json::object condition(const char* type, bool is) {
  return {{"type", type}, {"status", is ? "True" : "False"}};
}

// A cluster with two devices, the AdmissionCheck "devices", and Kueue's part played by the test.
class KueueTest : public ControllerTest {
 protected:
  void SetUp() override {
    api.set(checkPath("devices"), {{"spec", json::object{{"controllerName", "divvy.dev/fit"}}}});
    api.set(nodePath("a"), deviceNodeJson("a", 2));
    ASSERT_TRUE(cache.setNode(nodeAt(nodePath("a"))));
  }
  void begin() { begin(*client); }
  void begin(kube::Client& with) {
    informers = std::make_unique<Informers>(loop.get_executor(), *client, &stopped);
    kube::EventHandlers pods;
    pods.path = "/api/v1/pods";
    pods.set = [](const json::value&) {};
    pods.gone = [](const std::string&, const std::string&) {};
    pods.synced = [] {};
    pods.trouble = [](const Error&) {};
    const kube::Informer& informer = informers->follow("pods", std::move(pods));
    reservations = std::make_unique<WorkloadReservations>(
        cache, nullptr, [] { return WorkloadReservations::Pods{}; });
    controller = std::make_unique<KueueController>(
        loop.get_executor(), with,
        WorkloadFit({allVendors(), cache, *reservations, nullptr,
                     [this](const std::string& gang) { return gang == known_gang; }}),
        counts.kueue, KueueController::Options{whyNot(), &stopped});
    controller->start(informer);
  }
  // Kueue gives quota to a workload, whose checks are pending then.
  void reserveQuota(const std::string& name, std::int64_t count,
                    const Texts& limits = {{"nvidia.com/gpu", "1"},
                                           {"nvidia.com/gpucores", "100"}}) {
    const json::object set{{"name", "main"}, {"count", count}, {"template", podJson(limits)}};
    json::object check{{"name", "devices"}, {"state", "Pending"}, {"message", ""}};
    api.set(workloadPath(name),
            {{"spec", json::object{{"podSets", json::array{set}}}},
             {"status", json::object{{"conditions", json::array{condition("QuotaReserved", true)}},
                                     {"admissionChecks", json::array{check}}}}});
  }
  void change(const std::string& name, json::object conditions) {
    json::object workload = *api.find(workloadPath(name));
    workload["status"].as_object()["conditions"] = json::array{std::move(conditions)};
    api.set(workloadPath(name), std::move(workload));
  }
  json::object check(const std::string& name) const {
    return api.find(workloadPath(name))->at("status").at("admissionChecks").at(0).as_object();
  }
  std::string state(const std::string& name) const {
    return std::string(check(name).at("state").as_string());
  }
  std::size_t writes(const std::string& name) const {
    return api.count("PATCH", workloadPath(name) + "/status");
  }
  bool becomes(const std::string& name, const std::string& wanted) {
    return until([&] { return state(name) == wanted; });
  }

  std::unique_ptr<Informers> informers;
  std::unique_ptr<WorkloadReservations> reservations;
  std::unique_ptr<KueueController> controller;
  std::string known_gang;
};

TEST_F(KueueTest, Check_IsActiveWithoutParameters) {
  api.set(checkPath("wrong"),
          {{"spec", json::object{{"controllerName", "divvy.dev/fit"},
                                 {"parameters", json::object{{"kind", "Some"}}}}}});
  api.set(checkPath("other"), {{"spec", json::object{{"controllerName", "example.com/other"}}}});
  begin();
  const auto active = [&](const std::string& name) {
    const json::object& object = *api.find(checkPath(name));
    return object.contains("status") ? object.at("status").at("conditions").at(0).at("status")
                                     : json::value();
  };
  ASSERT_TRUE(until([&] { return active("devices") == "True" && active("wrong") == "False"; }));
  pass(seconds(10));
  EXPECT_EQ(active("other"), json::value());
  EXPECT_EQ(api.count("PATCH", kube::kKueueChecksPath), 2u);
}

TEST_F(KueueTest, DevicesFree_OneWriteOfReadyWithGang) {
  begin();
  reserveQuota("job", 2);
  ASSERT_TRUE(becomes("job", "Ready"));
  const json::value update = check("job").at("podSetUpdates").at(0);
  EXPECT_EQ(update.at("name"), "main");
  EXPECT_EQ(update.at("annotations").at("use.divvy.dev/gang"), "job.main");
  EXPECT_EQ(update.at("annotations").at("use.divvy.dev/gang-min"), "2");
  pass(seconds(30));
  EXPECT_EQ(writes("job"), 1u);
  EXPECT_EQ(counts.kueue.ready, 1u);
  reserveQuota("late", 1);
  ASSERT_TRUE(becomes("late", "Retry"));
  EXPECT_EQ(check("late").at("requeueAfterSeconds"), 10);
  EXPECT_EQ(writes("late"), 1u);
}

TEST_F(KueueTest, QuotaLostOrWorkloadGone_NextOneIsReady) {
  begin();
  reserveQuota("one", 2);
  ASSERT_TRUE(becomes("one", "Ready"));
  change("one", condition("QuotaReserved", false));
  ASSERT_TRUE(until([&] { return !reservations->holds("uid-of-one"); }));
  reserveQuota("two", 2);
  ASSERT_TRUE(becomes("two", "Ready"));
  api.remove(workloadPath("two"));
  reserveQuota("three", 2);
  ASSERT_TRUE(becomes("three", "Ready"));
}

// Kueue resets the checks of a workload before it takes the quota.
TEST_F(KueueTest, Evicted_NotDecidedUntilQuotaIsNew) {
  begin();
  reserveQuota("job", 2);
  ASSERT_TRUE(becomes("job", "Ready"));
  json::object workload = *api.find(workloadPath("job"));
  json::object& status = workload["status"].as_object();
  status["conditions"] = json::array{condition("QuotaReserved", true), condition("Evicted", true)};
  status["admissionChecks"].as_array()[0].as_object()["state"] = "Pending";
  api.set(workloadPath("job"), workload);
  pass(seconds(30));
  EXPECT_EQ(state("job"), "Pending");
  EXPECT_FALSE(reservations->holds("uid-of-job"));
  change("job", condition("QuotaReserved", true));
  ASSERT_TRUE(becomes("job", "Ready"));
}

TEST_F(KueueTest, CheckSeenBeforeReplicaActs_IsActiveLater) {
  why_not = "the cluster is not listed yet";
  begin();
  pass(seconds(5));
  why_not.clear();
  const json::object& check = *api.find(checkPath("devices"));
  EXPECT_FALSE(check.contains("status"));
  ASSERT_TRUE(until([&] { return api.find(checkPath("devices"))->contains("status"); }));
}

TEST_F(KueueTest, CheckIsDeletedAndMadeAgain_WorkloadIsDecided) {
  why_not = "another replica leads";
  begin();
  reserveQuota("job", 2);
  pass(seconds(5));
  const json::object check = *api.find(checkPath("devices"));
  api.remove(checkPath("devices"));
  pass(seconds(5));
  why_not.clear();
  pass(seconds(5));
  EXPECT_EQ(state("job"), "Pending");
  api.set(checkPath("devices"), {{"spec", check.at("spec")}});
  ASSERT_TRUE(becomes("job", "Ready"));
}

TEST_F(KueueTest, ReadyAndNotAdmitted_DevicesStayReserved) {
  begin();
  reserveQuota("job", 2);
  ASSERT_TRUE(becomes("job", "Ready"));
  for (unsigned minute = 0; minute < 5; ++minute) {
    pass(seconds(60));
    cache.expire(now());
    EXPECT_TRUE(reservations->holds("uid-of-job")) << minute;
  }
  EXPECT_EQ(writes("job"), 1u);
}

TEST_F(KueueTest, ReadyAndDevicesGone_Retried) {
  begin();
  reserveQuota("job", 2);
  ASSERT_TRUE(becomes("job", "Ready"));
  cache.removeNode("uid-of-a", "a");
  ASSERT_TRUE(until([&] { return state("job") == "Retry"; }, seconds(200)));
}

TEST_F(KueueTest, ChangedBeforeWrite_DecisionIsNotWritten) {
  const std::unique_ptr<kube::Client> late = clientWith({.per_second = 0.5, .burst = 2});
  begin(*late);
  reserveQuota("job", 2);
  ASSERT_TRUE(until([&] { return reservations->holds("uid-of-job"); }));
  change("job", condition("QuotaReserved", false));
  ASSERT_TRUE(until([&] { return !reservations->holds("uid-of-job"); }));
  pass(seconds(30));
  EXPECT_EQ(state("job"), "Pending") << "a state without quota would count for the next quota";
}

TEST_F(KueueTest, WriteFails_IsRepeated) {
  begin();
  api.inject({.method = "PATCH",
              .path = workloadPath("job") + "/status",
              .kind = test::FaultKind::kStatus,
              .times = 2});
  reserveQuota("job", 2);
  ASSERT_TRUE(becomes("job", "Ready"));
}

TEST_F(KueueTest, OtherReplicaLeads_WritesNothingUntilItLeads) {
  why_not = "another replica leads";
  begin();
  reserveQuota("job", 2);
  pass(seconds(30));
  EXPECT_EQ(state("job"), "Pending");
  EXPECT_FALSE(reservations->holds("uid-of-job"));
  why_not.clear();
  controller->takeOver();
  ASSERT_TRUE(becomes("job", "Ready"));
}

TEST_F(KueueTest, NewTerm_RestoresForAdmittedWorkloadsWithoutPods) {
  begin();
  reserveQuota("job", 2);
  ASSERT_TRUE(becomes("job", "Ready"));
  json::object workload = *api.find(workloadPath("job"));
  workload["status"].as_object()["conditions"] =
      json::array{condition("QuotaReserved", true), condition("Admitted", true)};
  api.set(workloadPath("job"), workload);
  controller->takeOver();
  EXPECT_FALSE(reservations->holds("uid-of-job"));
  ASSERT_TRUE(until([&] { return reservations->holds("uid-of-job"); }));
  known_gang = "lab/gang/job.main";
  controller->takeOver();
  pass(seconds(10));
  EXPECT_FALSE(reservations->holds("uid-of-job")) << "its pods are there";
}

TEST_F(KueueTest, UnreadableWorkload_IsCountedAndOthersAreDecided) {
  begin();
  reserveQuota("bad", 1);
  json::object bad = *api.find(workloadPath("bad"));
  bad["spec"].as_object()["podSets"] = "none";
  api.set(workloadPath("bad"), bad);
  reserveQuota("good", 1);
  ASSERT_TRUE(becomes("good", "Ready"));
  EXPECT_GE(counts.kueue.unreadable, 1u);
}

TEST_F(KueueTest, AskedAboutWorkload_ItsQueueMustAdmitHere) {
  const auto queuePath = [](const std::string& name) {
    return "/apis/kueue.x-k8s.io/v1beta2/namespaces/lab/localqueues/" + name;
  };
  const auto why = [this](const char* queue) {
    kube::KueueWorkload workload;
    workload.meta.name = "job";
    workload.meta.namespace_name = "lab";
    workload.queue = queue;
    const FitAnswer answer = controller->wouldFit({workload}, [] { return false; }).at(0);
    EXPECT_EQ(answer.fits, answer.why.empty());
    EXPECT_EQ(answer.never, !answer.why.empty());
    return answer.why;
  };
  json::object stopped_status = condition("Active", false);
  stopped_status["message"] = "LocalQueue is stopped";
  api.set(queuePath("open"),
          {{"status", json::object{{"conditions", json::array{condition("Active", true)}}}}});
  api.set(queuePath("closed"),
          {{"status", json::object{{"conditions", json::array{stopped_status}}}}});
  begin();
  EXPECT_EQ(why("other"), "") << "the queues are not listed yet";
  ASSERT_TRUE(until([&] { return why("other") == "namespace lab has no LocalQueue other"; }));
  EXPECT_EQ(why("open"), "");
  EXPECT_EQ(why(""), "") << "it names none";
  EXPECT_EQ(why("closed"), "LocalQueue closed: LocalQueue is stopped");
  api.remove(queuePath("open"));
  EXPECT_TRUE(until([&] { return !why("open").empty(); }));
}

// A namespace with a hundred workloads, and one with a single one after them.
TEST_F(KueueTest, ManyWorkloadsOfOneNamespace_OtherNamespaceIsNext) {
  NamespaceQueue turns;
  for (unsigned i = 0; i < 100; ++i) turns.push("many", "m" + std::to_string(i));
  turns.push("one", "o");
  EXPECT_EQ(turns.pop(), "m0");
  EXPECT_EQ(turns.pop(), "o");
  EXPECT_EQ(turns.pop(), "m1");
}

}  // namespace
}  // namespace divvy::scheduler
