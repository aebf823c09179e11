// What `divvy ls`, `gpus` and `top` say of memory that is promised more than once.
#include <gtest/gtest.h>

#include "view/events_view.h"
#include "view/list_view.h"
#include "view/memory_notes.h"
#include "view/slowness_diagnosis.h"
#include "view/table.h"
#include "view/top_view.h"

namespace divvy::cli {
namespace {

using Lines = std::vector<std::string>;

agent::TenantView tenantOf(const std::string& name, const std::string& memory) {
  agent::TenantView tenant;
  tenant.id = "id-" + name;
  tenant.name = name;
  tenant.state = "running";
  tenant.priority = "normal";
  tenant.mode = "share";
  tenant.weight = 50;
  tenant.memory = memory;
  agent::ShareView share;
  share.uuid = "GPU-a";
  share.limit = gib(20).count;
  share.used = gib(16).count;
  share.resident = gib(12).count;
  share.swapped = gib(4).count;
  share.got_permille = 300;
  share.in_bps = gib(1).count;
  tenant.shares.push_back(share);
  return tenant;
}

agent::Snapshot nodeOf(std::vector<agent::TenantView> tenants, unsigned permille = 1300) {
  agent::Snapshot node;
  node.node = "gpu";
  agent::DeviceView device;
  device.uuid = "GPU-a";
  device.model = "card";
  device.physical = gib(24).count;
  device.overcommit_permille = permille;
  device.budget = gib(23).count;
  device.promised = gib(30).count;
  node.devices.push_back(device);
  node.tenants = std::move(tenants);
  return node;
}

std::string topOf(const agent::Snapshot& node, std::size_t columns = 80) {
  std::string all;
  for (const std::string& line : drawTop({node}, {{columns, 0}, false, false, ""}))
    all += line + "\n";
  return all;
}

void expectAll(const std::string& text, const Lines& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(MemoryText, WithoutOvercommit_SwapColumnsAbsent) {
  const agent::Snapshot once = nodeOf({tenantOf("web", "kept")}, 1000);
  for (const char* heading : {"RESIDENT", "SWAPPED", "OVERCOMMIT", "BUDGET", "PROMISED", "IN/s"}) {
    EXPECT_EQ(tenantsTable({once}, 0, true, 0).find(heading), std::string::npos) << heading;
    EXPECT_EQ(devicesTable({once}, true).find(heading), std::string::npos) << heading;
    EXPECT_EQ(topOf(once).find(heading), std::string::npos) << heading;
  }
  const agent::Snapshot more = nodeOf({tenantOf("web", "resident")});
  expectAll(tenantsTable({more}, 0, true, 0), {"USED  RESIDENT  SWAPPED  CORES", "12GiB", "4GiB"});
  expectAll(devicesTable({more}, true), {"OVERCOMMIT  BUDGET  PROMISED", "1.3x", "23GiB", "30GiB"});
  expectAll(topOf(more), {"RESIDENT  SWAPPED    LIMIT     IN/s    OUT/s", "12GiB", "1GiB",
                          "1.3x  budget 23GiB  promised 30GiB"});
}

// Tenants of an earlier agent that promised more go on taking turns.
TEST(MemoryText, TenantWaitsWithoutOvercommit_SwapColumnsKept) {
  const agent::Snapshot left = nodeOf({tenantOf("web", "waiting")}, 1000);
  expectAll(tenantsTable({left}, 0, true, 0), {"SWAPPED", "waits for its turn"});
}

TEST(MemoryText, BrokenAndQueuedRows_HaveAllColumns) {
  agent::Snapshot node = nodeOf({tenantOf("web", "resident")});
  agent::TenantView broken;
  broken.id = "broken";
  broken.state = "broken";
  node.tenants.push_back(broken);
  node.queue.push_back({7, "later", "20Gi", 1, "no room"});
  expectAll(tenantsTable({node, node}, 0, true, 0), {"broken", "queued", "no room"});
}

TEST(MemoryText, MemoryNotes_StateAndReason) {
  agent::TenantView web = tenantOf("web", "waiting");
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{"waits for its turn"});
  // Also between its turns: what it needs is not to be had.
  web.memory_reason = "short";
  web.memory = "out";
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{"short of memory"});
  EXPECT_EQ(whySlow(web, nodeOf({web})).size(), 1u);
  web.memory_reason = "fits";
  web.memory = "coming";
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{"swapping in"});
  web.memory = "out";
  web.idle_s = 59;
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{"swapped"});
  web.idle_s = 3 * 3600;
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), (Lines{"swapped", "idle 3h"}));
  web.refused = 12;
  web.refused_short = 1;
  EXPECT_EQ(memoryNotes(web, nodeOf({web})),
            (Lines{"12 requests beyond its limit", "1 request found the device full", "swapped",
                   "idle 3h"}));
  web.refused = web.refused_short = 0;
  web.memory = "resident";
  web.shares[0].swapped = 0;
  web.idle_s = 0;
  web.pinned_by = {"context"};
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{});
  web.pinned_by = {"context", "arrays", "managed memory"};
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{"pinned: arrays, managed memory"});
  agent::TenantView old = tenantOf("old", "kept");
  old.unswapped = "its swap file was truncated";
  EXPECT_EQ(memoryNotes(old, nodeOf({old})),
            Lines{"cannot be swapped: its swap file was truncated"});
}

TEST(MemoryText, WaitForMemory_DeviceAndTurnEndNamed) {
  agent::TenantView web = tenantOf("web", "waiting");
  web.memory_reason = "others-turn";
  web.throttled_permille = 900;
  agent::TenantView train = tenantOf("train", "resident");
  EXPECT_EQ(whySlow(web, nodeOf({web, train})),
            Lines{"waits for memory: turn of other tenants on device 0"});
  train.turn_left_ms = 5000;
  agent::Snapshot node = nodeOf({web, train});
  node.devices[0].swap_predicted_ms = 1000;
  EXPECT_EQ(whySlow(web, node),
            Lines{"waits for memory: turn of other tenants on device 0, which ends in at most 6s"});
  web.memory_reason = "higher-class";
  EXPECT_EQ(whySlow(web, node), Lines{"paused: its memory on device 0 is lent to a higher "
                                      "priority; it is swapped in again automatically"});
  EXPECT_EQ(memoryNotes(web, node), Lines{"paused: memory lent to a higher priority"});
  web.lent_to = train.id;
  node.tenants[1].priority = "high";
  EXPECT_EQ(whySlow(web, node), Lines{"paused: its memory on device 0 is lent to train, whose "
                                      "priority is high; it is swapped in again automatically"});
  EXPECT_EQ(memoryNotes(web, node), Lines{"paused: memory lent to train"});
  web.memory_reason = "short";
  EXPECT_EQ(whySlow(web, node), Lines{"waits for memory: it needs more than the guarantees of "
                                      "other tenants leave on device 0"});
  expectAll(topOf(node),
            {"waits for memory: turn of other tenants on device 0, which ends in at most 6s"});
}

TEST(MemoryText, NeverFullyResident_RemainderExplained) {
  agent::TenantView web = tenantOf("web", "resident");
  web.memory_reason = "short";
  web.shares[0].swapped = 3ULL << 30;
  const std::string waits =
      "waits for memory: it needs more than the guarantees of other tenants leave on device 0";
  web.host_map = "cannot";
  EXPECT_EQ(whySlow(web, nodeOf({web})), Lines{waits + ", and its driver cannot map host memory"});
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{"short of memory"});
  web.host_map = "off";
  EXPECT_EQ(whySlow(web, nodeOf({web})),
            Lines{waits + ", and mapping host memory is off (--host-map)"});
  web.host_map = "in-use";
  EXPECT_EQ(
      whySlow(web, nodeOf({web})),
      Lines{"needs more than device 0 can provide: 3 GiB of it is used in host memory, slowly"});
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{"3 GiB used in host memory"});
}

TEST(MemoryText, SwapOutRefused_ReasonNamed) {
  agent::TenantView web = tenantOf("web", "resident");
  web.refusal = "it captures a graph";
  EXPECT_EQ(whySlow(web, nodeOf({web})),
            Lines{"could not release memory at the last request: it captures a graph"});
}

TEST(MemoryText, LongIdle_IdleTimeAndShutdownShown) {
  agent::TenantView web = tenantOf("web", "out");
  web.memory_reason = "unused";
  web.idle_s = 9 * 3600;
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), (Lines{"released its memory", "idle 9h"}));
  web.stop = "noticed";
  web.stop_left_s = 240;
  EXPECT_EQ(memoryNotes(web, nodeOf({web})).front(), "ends in 4m unless it resumes work");
  web.stop = "ending";
  EXPECT_EQ(memoryNotes(web, nodeOf({web})).front(), "terminating");
}

std::string stamp(std::int64_t ms) {
  return "t" + std::to_string(ms);
}

TEST(MemoryText, Events_SortedByTime) {
  NodeEvents node_events{{"gpu", {1, 20, "x1", "web", 0, "yielded", "1 GiB"}},
                         {"sim", {1, 10, "x2", "", -1, "waited", "a while"}},
                         {"gpu", {2, 30, "", "", 3, "thrash-risk", "too often"}},
                         {"gpu", {3, 40, "", "huge", -1, "turned-away", "no room", "alice"}}};
  sortByTime(node_events);
  EXPECT_EQ(eventsTable(node_events, stamp, true, 0),
            "TIME  TENANT    DEVICE  KIND         REASON\n"
            "t10   x2             -  waited       a while\n"
            "t20   web            0  yielded      1 GiB\n"
            "t30   device 3       3  thrash-risk  too often\n"
            "t40   huge           -  turned-away  no room (by alice)\n");
  EXPECT_EQ(eventLine(node_events[1].second, stamp), "t20  web  yielded: 1 GiB");
}

TEST(MemoryText, AllocationWaits_SaidInNotes) {
  agent::TenantView web = tenantOf("web", "resident");
  web.shares[0].swapped = 0;
  web.pressed = 1;
  EXPECT_EQ(memoryNotes(web, nodeOf({web})), Lines{"an allocation waits: the device is short"});
  EXPECT_EQ(
      whySlow(web, nodeOf({web})),
      Lines{"an allocation waits for memory: device 0 has too little memory that can be swapped"});
}

TEST(MemoryText, DeviceNote_SwapTimeTurnAndThrashing) {
  agent::DeviceView device;
  EXPECT_EQ(deviceNote(device), "");
  device.swap_predicted_ms = 1200;
  device.quantum_ms = 17000;
  EXPECT_EQ(deviceNote(device), "swaps take 1.2s, turns 17s");
  device.thrash_risk = true;
  EXPECT_EQ(deviceNote(device), "swaps take 1.2s, turns 17s; thrash risk");
}

TEST(MemoryText, TopOutput_NoLineWiderThanTerminal) {
  agent::Snapshot node = nodeOf({tenantOf("a-name-that-is-longer-than-any-column", "waiting")});
  node.tenants[0].pid = 4194304;
  node.tenants[0].shares[0].limit = node.tenants[0].shares[0].resident = gib(79).count + 12345;
  node.devices[0].swap_predicted_ms = 99999;
  node.devices[0].thrash_risk = true;
  for (const std::size_t columns : {40u, 80u, 120u}) {
    for (const std::string& line : drawTop({node}, {{columns, 0}, false, false, ""}))
      EXPECT_LE(columnsOf(line), columns) << line;
  }
}

TEST(MemoryText, Ratios_ShortestForm) {
  EXPECT_EQ(ratioWord(1000), "1x");
  EXPECT_EQ(ratioWord(1300), "1.3x");
  EXPECT_EQ(ratioWord(2250), "2.25x");
  EXPECT_EQ(ratioWord(1005), "1.005x");
}

}  // namespace
}  // namespace divvy::cli
