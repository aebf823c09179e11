// What `divvy doctor --bundle` collects, of made-up agents and a made-up API server.
#include "diagnose/doctor_bundle.h"

#include <gtest/gtest.h>

#include <string>

#include <boost/json.hpp>

#include "fake_cluster.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using test::FakeCluster;

// An examination that asked this cluster, and one agent.
Examined examinedOf(const FakeCluster& cluster) {
  Examined examined;
  examined.talks.emplace_back();
  examined.talks.back().snapshot.node = "gpu";
  examined.observation.emplace();
  examined.observation->facts.namespace_name = "divvy-system";
  Result<kube::Access> access = accessFor(cluster.kubeconfig(), "");
  if (!access) return examined;
  Result<std::unique_ptr<KubeApi>> api = KubeApi::open(std::move(*access));
  if (api) examined.api = std::move(*api);
  return examined;
}

std::string fileOf(const doctor::Bundle& bundle, const std::string& name) {
  for (const doctor::BundleFile& file : bundle.files)
    if (file.name == name) return file.text;
  ADD_FAILURE() << "there is no " << name;
  return "null";
}

std::map<std::string, FakeCluster::Said> withEvents(const std::string& events) {
  return {{"/api/v1/events", FakeCluster::list(events)},
          {"/api/v1/namespaces/divvy-system/configmaps", FakeCluster::list("")}};
}

// Only pods that lived were known: of those that Events and agents still told of, names stayed.
TEST(DoctorBundle, EndedPodsAndTenants_NamesRedacted) {
  const FakeCluster cluster(withEvents(
      R"({"reason":"UnexpectedAdmissionError","message":"Pod corpse was refused beside wraith",)"
      R"("source":{"component":"kubelet"},"metadata":{"namespace":"team-dead","name":"corpse.1"},)"
      R"("involvedObject":{"kind":"Pod","namespace":"team-dead","name":"corpse"}},)"
      R"({"reason":"Scheduled","message":"to node grave-1","reportingComponent":)"
      R"("divvy-scheduler","involvedObject":{"kind":"Pod","namespace":"team-b","name":"wraith"}},)"
      R"({"reason":"NodeUpdated","message":"grave-1 has a card less","reportingComponent":)"
      R"("divvy-scheduler","involvedObject":{"kind":"Node","name":"grave-1"}})"));
  for (const bool redact : {true, false}) {
    Examined examined = examinedOf(cluster);
    agent::EventView event;
    event.tenant = "abc234";
    event.name = "team-gone/ghost/main";
    event.kind = "yielded";
    event.reason = "made room for ghost";
    examined.talks.back().events.push_back(event);
    examined.report.findings.push_back({"waiting-pods", doctor::FindingScope::kCluster,
                                        doctor::FindingState::kWarning, "team-dead/corpse",
                                        "ghost waits", "", ""});
    const doctor::Bundle bundle = bundleOf(examined, redact);
    std::string all = doctor::manifestOf(bundle);
    for (const doctor::BundleFile& file : bundle.files) all += file.text;
    for (const char* name :
         {"team-dead", "corpse", "team-b", "wraith", "grave-1", "team-gone", "ghost"})
      EXPECT_EQ(all.find(name) == std::string::npos, redact) << name << "\n" << all;
    if (!redact) continue;
    const json::value events = json::parse(fileOf(bundle, "cluster/events.json"));
    const std::string pod(events.at(0).at("about").at("name").as_string());
    EXPECT_EQ(events.at(0).at("message").as_string(), "Pod " + pod + " was refused beside pod-2");
    EXPECT_NE(fileOf(bundle, "doctor.json").find("/" + pod + "\""), std::string::npos) << all;
  }
}

// They are listed by namespace and name: what was kept were the last by name.
TEST(DoctorBundle, ManyEvents_LastTwoHundredByTimeKept) {
  std::string events;
  for (int i = 0; i < 250; ++i) {
    // The first is the newest. Newer API servers say eventTime, and lastTimestamp is null.
    const int minute = 249 - i;
    const std::string time = "2026-01-01T0" + std::to_string(minute / 60) + ":" +
                             (minute % 60 < 10 ? "0" : "") + std::to_string(minute % 60) + ":00";
    events += (i == 0 ? "" : ",") + std::string(R"({"reason":"Scheduled","message":")") +
              std::to_string(minute) + R"(","reportingComponent":"divvy-scheduler",)" +
              (i % 2 == 0 ? R"("lastTimestamp":")" + time + "Z\""
                          : R"("lastTimestamp":null,"eventTime":")" + time + ".000001Z\"") +
              R"(,"involvedObject":{"kind":"Pod","namespace":"n","name":"p"}})";
  }
  const FakeCluster cluster(withEvents(events));
  Examined examined = examinedOf(cluster);
  const json::value kept = json::parse(fileOf(bundleOf(examined, false), "cluster/events.json"));
  ASSERT_EQ(kept.as_array().size(), 200u);
  for (std::size_t i = 0; i < 200; ++i)
    EXPECT_EQ(kept.at(i).at("message").as_string(), std::to_string(50 + i));
}

}  // namespace
}  // namespace divvy::cli
