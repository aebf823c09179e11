#include "rows/rows.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "sample_node.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

std::vector<std::string_view> membersOf(const Row& row) {
  std::vector<std::string_view> names;
  for (const auto& member : row) names.push_back(member.key());
  return names;
}

agent::EventView sampleEvent() {
  agent::EventView event;
  event.seq = 3;
  event.time_ms = 1'764'000'000'000;
  event.kind = "given";
  event.reason = "4 GiB on device 1";
  return event;
}

TEST(Rows, EachKind_ExactlyItsFieldsInOrder) {
  const agent::Snapshot node = sampleNode();
  EXPECT_EQ(membersOf(deviceRow(node, node.devices[0])), deviceFields());
  EXPECT_EQ(membersOf(shareRow(node, node.tenants[0], {})), shareFields());
  EXPECT_EQ(membersOf(waitingRow(node, node.queue[0], 1)), waitingFields());
  EXPECT_EQ(membersOf(eventRow(node, sampleEvent())), eventFields());
  EXPECT_EQ(membersOf(nodeRow(node)), nodeFields());
}

TEST(Rows, EmptyViews_SameFields) {
  const agent::Snapshot node;
  EXPECT_EQ(membersOf(deviceRow(node, {})), deviceFields());
  EXPECT_EQ(membersOf(shareRow(node, {}, {})), shareFields());
  EXPECT_EQ(membersOf(waitingRow(node, {}, 0)), waitingFields());
  EXPECT_EQ(membersOf(eventRow(node, {})), eventFields());
  EXPECT_EQ(membersOf(nodeRow(node)), nodeFields());
}

TEST(Rows, UnknownFigures_NullNeverZero) {
  agent::Snapshot node = sampleNode();
  const Row device = deviceRow(node, node.devices[0]);
  EXPECT_TRUE(device.at("numa").is_null());
  EXPECT_TRUE(device.at("utilisation_percent").is_null());
  EXPECT_TRUE(device.at("turn_tenant").is_null());
  EXPECT_TRUE(device.at("parts").at(0).at("usage_permille").is_null());
  const Row share = shareRow(node, node.tenants[0], {});
  for (const char* name : {"usage_permille", "idle_ms", "idle_reclaim_ms", "idle_stop_ms",
                           "stop_state", "stop_left_ms", "lent_to"})
    EXPECT_TRUE(share.at(name).is_null()) << name;
  EXPECT_TRUE(share.at("devices").at(0).at("utilisation_percent").is_null());
  EXPECT_TRUE(share.at("devices").at(0).at("usage_permille").is_null());
  EXPECT_TRUE(waitingRow(node, node.queue[0], 1).at("since_ms").is_null());
  EXPECT_TRUE(nodeRow(node).at("loop_late_ms").is_null());
  const Row event = eventRow(node, sampleEvent());
  EXPECT_TRUE(event.at("share").is_null());
  EXPECT_TRUE(event.at("device").is_null());
  // A kept share has no process yet.
  node.tenants[0].pid = 0;
  EXPECT_TRUE(shareRow(node, node.tenants[0], {}).at("pid").is_null());
}

TEST(Rows, KnownZero_IsZero) {
  agent::Snapshot node = sampleNode();
  node.devices[0].utilisation = 0;
  node.devices[0].numa = 0;
  node.loop_late_ms = 0;
  node.tenants[0].idle_known = true;
  node.tenants[0].shares[0].got_permille = 0;
  EXPECT_EQ(deviceRow(node, node.devices[0]).at("utilisation_percent"), 0);
  EXPECT_EQ(deviceRow(node, node.devices[0]).at("numa"), 0);
  EXPECT_EQ(nodeRow(node).at("loop_late_ms"), 0);
  EXPECT_EQ(shareRow(node, node.tenants[0], {}).at("idle_ms"), 0);
  EXPECT_EQ(shareRow(node, node.tenants[0], {}).at("usage_permille"), 0);
}

TEST(Rows, SeveralDevices_SumsOfShares) {
  agent::Snapshot node = sampleNode();
  agent::TenantView& tenant = node.tenants[0];
  tenant.shares = {sampleShare(0, 100, 10), sampleShare(1, 200, 20)};
  tenant.shares[1].got_permille = 250;
  const Row share = shareRow(node, tenant, {});
  EXPECT_EQ(share.at("limit_bytes"), 300u);
  EXPECT_EQ(share.at("used_bytes"), 30u);
  EXPECT_EQ(share.at("cores_percent"), 60u);
  EXPECT_EQ(share.at("usage_permille"), 250);
  EXPECT_EQ(share.at("devices").as_array().size(), 2u);
  EXPECT_EQ(share.at("id"), "studio/t-1");
}

TEST(Rows, Event_IdNamesAgentAndNumber) {
  agent::Snapshot node = sampleNode();
  agent::EventView event = sampleEvent();
  event.device = 1;
  event.tenant = "t-1";
  const Row row = eventRow(node, event);
  EXPECT_EQ(row.at("device"), "GPU-1");
  EXPECT_EQ(row.at("share"), "studio/t-1");
  node.agent_pid = 8;
  EXPECT_NE(row.at("id"), eventRow(node, event).at("id")) << "another agent counts from 1 again";
}

TEST(Rows, HostileNames_KeptAsTheyAre) {
  const std::vector<std::string> names{"\"quotes\" \\ and <script>alert(1)</script>",
                                       "\xD7\xA9\xD7\x9C\xE2\x80\xAE rtl", std::string("a\0b", 3),
                                       std::string(253, 'n'), "a\r\nb\x01"};
  for (const std::string& name : names) {
    agent::Snapshot node = sampleNode(name);
    node.tenants[0].name = name;
    node.tenants[0].command = {name};
    node.devices[0].model = name;
    const Row row = shareRow(node, node.tenants[0], {name});
    boost::system::error_code fault;
    const bj::value again = bj::parse(bj::serialize(row), fault);
    ASSERT_FALSE(fault);
    EXPECT_EQ(again.as_object(), row);
    EXPECT_EQ(again.at("name").get_string(), name);
    EXPECT_EQ(deviceRow(node, node.devices[0]).at("model").get_string(), name);
  }
}

}  // namespace
}  // namespace divvy::console
