// What `divvy top` and `divvy ls` say about compute: figures, and why a tenant is slow.
#include <gtest/gtest.h>

#include "view/list_view.h"
#include "view/slowness_diagnosis.h"
#include "view/table.h"
#include "view/top_view.h"

namespace divvy::cli {
namespace {

agent::TenantView tenantOf(const std::string& name, unsigned cores, int got_permille,
                           unsigned throttled_permille) {
  agent::TenantView tenant;
  tenant.id = "id-" + name;
  tenant.name = name;
  tenant.state = "running";
  tenant.priority = "normal";
  tenant.mode = "share";
  tenant.weight = cores;
  tenant.throttled_permille = throttled_permille;
  tenant.shares.push_back({0, "GPU-a", gib(4).count, 0, cores, -1, got_permille});
  return tenant;
}

agent::Snapshot nodeOf(std::vector<agent::TenantView> tenants) {
  agent::Snapshot node;
  node.node = "gpu";
  node.tenants = std::move(tenants);
  return node;
}

using Lines = std::vector<std::string>;

std::string textOf(const agent::Snapshot& node, std::size_t columns) {
  std::string all;
  for (const std::string& line : drawTop({node}, {{columns, 0}, false, false, ""}))
    all += line + "\n";
  return all;
}

// The line of a picture that begins with `start`.
std::string lineOf(const std::string& text, const std::string& start) {
  const std::size_t at = text.find("\n" + start);
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(TopCompute, EightyColumns_EveryFigureShown) {
  agent::TenantView web = tenantOf("web", 30, 294, 620);
  web.waits = 12345;
  web.grants_per_s = 93;
  web.longest_us = 1234;
  const std::string text = textOf(nodeOf({web}), 80);
  EXPECT_EQ(lineOf(text, "TENANT   GPU COMPUTE"),
            "TENANT   GPU COMPUTE    GOT ASKED WEIGHT MODE        HELD  WAITS GRANT/S LONGEST");
  EXPECT_EQ(lineOf(text, "web "),
            "web        0 ###..... 29.4%   30%    30% share        62%  12.3k      93   1.2ms");
}

TEST(TopCompute, BelowShare_BarShowsMissingPart) {
  const std::string text = textOf(nodeOf({tenantOf("web", 50, 250, 0)}), 80);
  EXPECT_NE(text.find("##::...."), std::string::npos) << text;
}

TEST(TopCompute, CapPolicy_BarEndsAtCap) {
  agent::TenantView web = tenantOf("web", 50, 250, 500);
  web.cores_policy = "cap";
  web.weight = 100;
  const std::string text = textOf(nodeOf({web}), 80);
  EXPECT_NE(text.find("##::...."), std::string::npos) << text;
}

TEST(TopCompute, UnknownOrNotRequested_Dashes) {
  const std::string text = textOf(nodeOf({tenantOf("web", 0, -1, 0)}), 80);
  EXPECT_EQ(lineOf(text, "web "),
            "web        0 ........     -     -      - share         0%      0       0       -");
}

TEST(TopCompute, WiderTerminal_MoreColumns) {
  agent::TenantView web = tenantOf("a-longer-name", 30, 294, 620);
  web.throttled_ms = 12340;
  web.cores_policy = "cap";
  web.cpu_permille = 4;
  EXPECT_EQ(textOf(nodeOf({web}), 80).find("THROTTLED"), std::string::npos);
  const std::string text = textOf(nodeOf({web}), 160);
  for (const char* part : {"a-longer-name", "THROTTLED", "12.3s", "POLICY", "cap", "BACKEND",
                           "interposer", "ESCAPES", "CPU", "0.4%"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(TopCompute, TenantWithTwoDevices_FiguresInFirstLineOnly) {
  agent::TenantView web = tenantOf("web", 30, 294, 620);
  web.shares.push_back({1, "GPU-b", gib(4).count, 0, 30, -1, 311});
  const std::string text = textOf(nodeOf({web}), 80);
  EXPECT_NE(text.find("\n           1 ###..... 31.1%   30%\n"), std::string::npos) << text;
}

TEST(TopCompute, BrokenTenant_ShownWithReason) {
  agent::TenantView web;
  web.id = "abc234";
  web.state = "broken";
  web.note = "its report is too short";
  EXPECT_NE(textOf(nodeOf({web}), 80).find("broken: its report is too short"), std::string::npos);
}

TEST(WhySlow, NotThrottled_NoReason) {
  EXPECT_EQ(whySlow(tenantOf("web", 30, 900, 20), nodeOf({})), Lines());
}

TEST(WhySlow, SharePolicy_ShareAndBusyOthersNamed) {
  const agent::TenantView web = tenantOf("web", 30, 294, 620);
  const agent::TenantView busy = tenantOf("busy", 30, 300, 0);
  const agent::TenantView waiting = tenantOf("waiting", 40, 0, 900);
  const agent::TenantView idle = tenantOf("idle", 20, 0, 0);
  agent::TenantView elsewhere = tenantOf("elsewhere", 20, 990, 0);
  elsewhere.shares[0].uuid = "GPU-b";
  EXPECT_EQ(whySlow(web, nodeOf({web, busy, waiting, idle, elsewhere})),
            Lines{"waits 62% of the time: its share is 30% and 2 others are busy"});
  EXPECT_EQ(whySlow(web, nodeOf({web, busy})),
            Lines{"waits 62% of the time: its share is 30% and 1 other is busy"});
}

TEST(WhySlow, CapPolicy_CapNamedWhereReached) {
  agent::TenantView web = tenantOf("web", 20, 199, 800);
  web.cores_policy = "cap";
  web.mode = "cap";
  EXPECT_EQ(whySlow(web, nodeOf({web})), Lines{"waits 80% of the time: held at its cap of 20%"});
  web.mode = "share";
  EXPECT_EQ(whySlow(web, nodeOf({web})), Lines{"waits 80% of the time: held at its cap of 20%"});
  web.shares[0].got_permille = 120;
  EXPECT_EQ(whySlow(web, nodeOf({web})), Lines{"waits 80% of the time: its share is 20%"});
}

TEST(WhySlow, LowerPriority_BusyHigherOnesCounted) {
  agent::TenantView batch = tenantOf("batch", 30, 294, 620);
  batch.priority = "low";
  agent::TenantView web = tenantOf("web", 30, 600, 0);
  web.priority = "high";
  EXPECT_EQ(whySlow(batch, nodeOf({batch, web, tenantOf("mid", 10, 100, 0)})),
            Lines{"waits 62% of the time: its priority is low and 2 others of higher priority are "
                  "busy"});
  EXPECT_EQ(whySlow(web, nodeOf({batch, web})), Lines());
  web.throttled_permille = 180;
  EXPECT_EQ(whySlow(web, nodeOf({batch, web})),
            Lines{"waits 18% of the time: other tenants finish running work before its turn"});
}

TEST(WhySlow, LongKernels_NamedForBothTenants) {
  const agent::TenantView web = tenantOf("web", 30, 294, 620);
  agent::TenantView batch = tenantOf("batch", 70, 700, 0);
  batch.longest_us = 180000;
  EXPECT_EQ(whySlow(web, nodeOf({web, batch})).at(1),
            "waits for kernels of batch, which take up to 180ms each");
  EXPECT_EQ(whySlow(batch, nodeOf({web, batch})),
            Lines{"its longest kernel is 180ms: its time slices end late and are less frequent"});
  EXPECT_EQ(whySlow(batch, nodeOf({batch})), Lines()) << "nobody minds";
}

TEST(WhySlow, UngatedUnpreemptibleDistrusted_EachExplained) {
  agent::TenantView web = tenantOf("web", 30, 300, 0);
  web.mode = "ungated";
  web.unpreemptible = true;
  web.distrusted = true;
  const Lines reasons = whySlow(web, nodeOf({web}));
  ASSERT_EQ(reasons.size(), 3u);
  EXPECT_EQ(reasons[0].find("ungated: "), 0u);
  EXPECT_EQ(reasons[1].find("unpreemptible: "), 0u);
  EXPECT_EQ(reasons[2].find("distrusted: "), 0u);
  for (const std::string& reason : reasons) EXPECT_LE(reason.size(), 76u) << reason;
}

TEST(TenantsTable, WideOutput_BackendPolicyAndNotes) {
  agent::TenantView web = tenantOf("web", 30, 294, 620);
  web.cores_policy = "cap";
  web.mode = "cap";
  web.unpreemptible = true;
  web.distrusted = true;
  web.command = {"./server"};
  const std::string wide = tenantsTable({nodeOf({web})}, 0, true, 0);
  for (const char* part : {"BACKEND", "interposer", "POLICY", "cap", "PRIORITY", "normal", "WEIGHT",
                           "30%", "MODE", "NOTES", "unpreemptible,distrusted", "./server"})
    EXPECT_NE(wide.find(part), std::string::npos) << part << "\n" << wide;
}

TEST(TenantsTable, EightyColumns_LinesFitAndModeKept) {
  const agent::Snapshot node = nodeOf({tenantOf("web", 30, 294, 620)});
  const std::string text = tenantsTable({node}, 0, true, 80);
  EXPECT_NE(text.find("MODE"), std::string::npos) << text;
  EXPECT_EQ(text.find("NOTES"), std::string::npos) << text;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_LE(end - at, 80u) << text;
}

TEST(TenantsTable, UnusualValues_ColumnsAlwaysShown) {
  agent::TenantView web = tenantOf("web", 30, 294, 620);
  for (const char* heading : {"BACKEND", "POLICY", "PRIORITY", "NOTES"})
    EXPECT_EQ(tenantsTable({nodeOf({web})}, 0, true, 70).find(heading), std::string::npos);
  web.backend = "mps";
  web.cores_policy = "cap";
  web.priority = "low";
  web.distrusted = true;
  const std::string text = tenantsTable({nodeOf({web})}, 0, true, 70);
  for (const char* part :
       {"BACKEND", "mps", "POLICY", "cap", "PRIORITY", "low", "NOTES", "distrusted"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(DevicesTable, CoresAboveHundred_SumShown) {
  agent::Snapshot node = nodeOf({});
  agent::DeviceView device;
  device.uuid = "GPU-a";
  device.cores = 130;
  node.devices.push_back(device);
  EXPECT_NE(devicesTable({node}, true).find("130%"), std::string::npos);
}

}  // namespace
}  // namespace divvy::cli
