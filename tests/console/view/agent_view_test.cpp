#include "view/agent_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "sample_node.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

std::vector<std::string> noReason(const agent::TenantView&, const agent::Snapshot&) {
  return {};
}

NodeReading answered(agent::Snapshot snapshot) {
  NodeReading reading;
  reading.node = snapshot.node;
  reading.snapshot = std::move(snapshot);
  return reading;
}

NodeReading failed(const std::string& node, const std::string& failure) {
  NodeReading reading;
  reading.node = node;
  reading.failure = failure;
  return reading;
}

std::vector<std::string> codesOf(const ConsoleView& view) {
  std::vector<std::string> codes;
  for (const bj::value& item : view.overview->at("attention").as_array())
    codes.emplace_back(item.at("code").as_string());
  return codes;
}

TEST(ViewBuilder, AgentFails_RowsStayAndSourceSaysSince) {
  ViewBuilder builder(noReason);
  const ConsoleView first = builder.build({answered(sampleNode())}, 1000);
  ASSERT_EQ(first.sources.size(), 1u);
  EXPECT_EQ(first.sources[0].row(),
            (Row{{"node", "studio"}, {"state", "ok"}, {"since_ms", 1000}, {"message", ""}}));
  const ConsoleView second = builder.build({failed("studio", "no answer")}, 2000, &first);
  // The same rows, not equal ones.
  EXPECT_EQ(second.shares, first.shares);
  EXPECT_EQ(second.devices, first.devices);
  EXPECT_EQ(second.data_ms, 1000);
  EXPECT_EQ(second.sources[0].row().at("state"), "unreachable");
  EXPECT_EQ(second.sources[0].row().at("since_ms"), 2000);
  EXPECT_THAT(codesOf(second), testing::Contains("agent-unreachable"));
  const ConsoleView third = builder.build({failed("studio", "another cause")}, 3000);
  EXPECT_EQ(third.sources[0].row().at("since_ms"), 2000) << "it fails since then";
  EXPECT_EQ(third.sources[0].row().at("message"), "another cause");
  const ConsoleView fourth = builder.build({answered(sampleNode())}, 4000);
  EXPECT_EQ(fourth.sources[0].row().at("state"), "ok");
  EXPECT_EQ(fourth.sources[0].row().at("since_ms"), 4000);
  EXPECT_EQ(fourth.data_ms, 4000);
}

TEST(ViewBuilder, NeverReached_NoRowsAndState) {
  ViewBuilder builder(noReason);
  const ConsoleView view = builder.build({failed("studio", "no answer")}, 1000);
  EXPECT_EQ(view.sources[0].row().at("state"), "never-reached");
  EXPECT_TRUE(view.devices.empty());
  EXPECT_TRUE(view.nodes.empty());
  EXPECT_EQ(view.data_ms, 0);
  EXPECT_EQ(view.overview->at("funnel").at("devices"), 0u);
  EXPECT_TRUE(view.overview->at("funnel").at("compute").at("used_percent").is_null());
}

TEST(ViewBuilder, AgentEnded_RowsDisappear) {
  ViewBuilder builder(noReason);
  agent::Snapshot other = sampleNode("other");
  for (agent::DeviceView& device : other.devices) device.uuid = "O" + device.uuid;
  ConsoleView view = builder.build({answered(other), answered(sampleNode())}, 1000);
  EXPECT_EQ(view.devices.size(), 4u);
  EXPECT_EQ(view.shares.size(), 4u);
  view = builder.build({answered(sampleNode())}, 2000);
  EXPECT_EQ(view.sources.size(), 1u);
  EXPECT_EQ(view.devices.size(), 2u);
  EXPECT_EQ(view.nodes.size(), 1u);
  view = builder.build({}, 3000);
  EXPECT_TRUE(view.sources.empty());
  EXPECT_TRUE(view.shares.empty());
  EXPECT_TRUE(view.waiting.empty());
  // It begins again: nothing of before is left.
  view = builder.build({failed("studio", "no answer")}, 4000);
  EXPECT_EQ(view.sources[0].row().at("state"), "never-reached");
}

TEST(ViewBuilder, ManyEvents_OldestDropped) {
  ViewBuilder builder(noReason);
  NodeReading reading = answered(sampleNode());
  for (std::uint64_t i = 1; i <= ViewBuilder::kMaxEvents + 5; ++i) {
    agent::EventView event;
    event.seq = i;
    reading.events.push_back(event);
  }
  EXPECT_EQ(builder.build({reading}, 1000).events.size(), ViewBuilder::kMaxEvents);
  reading.events.clear();
  const ConsoleView view = builder.build({reading}, 2000);
  EXPECT_EQ(view.events.size(), ViewBuilder::kMaxEvents);
  EXPECT_FALSE(view.events.contains("studio/7-5"));
  EXPECT_TRUE(view.events.contains("studio/7-6"));
}

TEST(ViewBuilder, EventsOfFailedReading_NotNeeded) {
  ViewBuilder builder(noReason);
  NodeReading reading = failed("studio", "no answer");
  reading.events.emplace_back();
  EXPECT_TRUE(builder.build({reading}, 1000).events.empty());
}

TEST(Overview, Totals_SumOfDevicesAndShares) {
  agent::Snapshot node = sampleNode();
  node.devices[1].fault = "Xid 79";
  node.devices[0].utilisation = 40;
  node.tenants[0].idle_known = true;
  node.tenants[0].idle_s = 15 * 60;
  node.tenants[1].throttled_permille = 100;
  node.tenants[1].shares[0].swapped = 5;
  const ConsoleView view = ViewBuilder(noReason).build({answered(node)}, 1000);
  const bj::value& funnel = view.overview->at("funnel");
  const std::uint64_t gib = std::uint64_t{1} << 30;
  EXPECT_EQ(funnel.at("devices"), 2u);
  EXPECT_EQ(funnel.at("healthy_devices"), 1u);
  EXPECT_EQ(funnel.at("memory").at("total_bytes"), 160 * gib);
  EXPECT_EQ(funnel.at("memory").at("allocated_bytes"), 8 * gib);
  EXPECT_EQ(funnel.at("memory").at("used_bytes"), 2 * gib);
  EXPECT_EQ(funnel.at("memory").at("idle_bytes"), 4 * gib);
  EXPECT_EQ(funnel.at("compute").at("total_percent"), 200u);
  EXPECT_EQ(funnel.at("compute").at("allocated_percent"), 60u);
  EXPECT_EQ(funnel.at("compute").at("used_percent"), 40);
  EXPECT_EQ(funnel.at("compute").at("idle_percent"), 30u);
  EXPECT_EQ(
      view.overview->at("shares"),
      (bj::object{
          {"running", 2u}, {"reserved", 0u}, {"idle", 1u}, {"throttled", 1u}, {"swapped", 1u}}));
  EXPECT_EQ(view.overview->at("waiting"), 1u);
}

TEST(Overview, IdleTimeJustBelowBound_NotIdle) {
  agent::Snapshot node = sampleNode();
  node.tenants[0].idle_known = true;
  node.tenants[0].idle_s = 15 * 60 - 1;
  node.tenants[1].idle_s = 100'000;  // not valid without idle_known
  const ConsoleView view = ViewBuilder(noReason).build({answered(node)}, 1000);
  EXPECT_EQ(view.overview->at("shares").at("idle"), 0u);
}

TEST(Overview, Findings_SeverestFirstAndLinked) {
  agent::Snapshot node = sampleNode();
  node.tenants[0].idle_known = true;
  node.tenants[0].idle_s = 3600;
  node.tenants[0].distrusted = true;
  node.tenants[1].bypass = "static binary";
  node.tenants[1].state = "broken";
  node.devices[0].thrash_risk = true;
  node.devices[1].fault = "Xid 79";
  const ConsoleView view = ViewBuilder(noReason).build({answered(node)}, 1000);
  EXPECT_THAT(codesOf(view), testing::ElementsAre("device-faulty", "limit-bypass", "thrash-risk",
                                                  "usage-mismatch", "share-broken", "idle-share"));
  for (const bj::value& item : view.overview->at("attention").as_array()) {
    const std::string link(item.at("link").as_string());
    const bool found = link.starts_with("devices/")
                           ? view.devices.contains(link.substr(8))
                           : link.starts_with("shares/") && view.shares.contains(link.substr(7));
    EXPECT_TRUE(found) << link;
  }
}

TEST(Overview, NothingWrong_NoFindings) {
  const ConsoleView view = ViewBuilder(noReason).build({answered(sampleNode())}, 1000);
  EXPECT_TRUE(codesOf(view).empty());
}

}  // namespace
}  // namespace divvy::console
