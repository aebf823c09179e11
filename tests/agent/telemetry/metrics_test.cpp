// What Prometheus is told of cards and tenants, and what tenants are charged for over time.
#include "telemetry/metrics.h"

#include "agent/metrics_options.h"
#include "public_names/public_names.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

namespace divvy::agent {
namespace {

constexpr std::uint64_t kGib = 1ull << 30;

// A card that two share: a pod's container and a run of the machine's own.
MetricsInput all() {
  MetricsInput all;
  all.node = "worker-1";
  all.snapshot.node = "sim-h100";
  all.snapshot.driver = "570.1";
  DeviceView card;
  card.uuid = "GPU-a";
  card.model = "H100";
  card.physical = 80 * kGib;
  card.utilisation = 40;
  all.snapshot.devices.push_back(card);
  TenantView tenant;
  tenant.id = "0123";
  tenant.name = "train";
  tenant.throttled_ms = 1500;
  tenant.refused = 3;
  ShareView share;
  share.uuid = "GPU-a";
  share.limit = 2 * kGib;
  share.used = kGib;
  share.got_permille = 250;
  tenant.shares.push_back(share);
  all.snapshot.tenants.push_back(tenant);
  tenant.id = "4567";
  tenant.name = "a \"run\"";
  tenant.shares[0].got_permille = -1;
  tenant.memory = "out";
  tenant.idle_known = true;
  tenant.idle_s = 60;
  all.snapshot.tenants.push_back(tenant);
  all.pods["0123"] = {"u-1", "lab", "p-0", "main"};
  all.bills["0123"][0] = {12.5, 1000};
  return all;
}

std::set<std::string> linesOf(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

TEST(AgentMetrics, DevicesAndTenants_SamplesAreWritten) {
  const std::string text = exposition(all());
  const std::set<std::string> lines = linesOf(text);
  const std::string of_pod = R"({tenant="0123",namespace="lab",pod="p-0",container="main"})";
  const std::string on_card =
      R"({tenant="0123",device="GPU-a",namespace="lab",pod="p-0",container="main"})";
  for (const std::string& line :
       {std::string(
            R"(divvy_device_memory_total_bytes{node="worker-1",device="GPU-a"} 85899345920)"),
        std::string(R"(divvy_device_utilisation_ratio{node="worker-1",device="GPU-a"} 0.4)"),
        "divvy_tenant_throttled_seconds_total" + of_pod + " 1.5",
        "divvy_tenant_allocations_refused_total" + of_pod + " 3",
        "divvy_tenant_memory_limit_bytes" + on_card + " 2147483648",
        "divvy_tenant_compute_usage_ratio" + on_card + " 0.25",
        "divvy_tenant_device_seconds_total" + on_card + " 12.5",
        std::string(R"(divvy_tenant_idle_seconds{tenant="4567",namespace="",pod="",container=""} )"
                    "60")}) {
    EXPECT_TRUE(lines.contains(line)) << line << '\n' << text;
  }
  EXPECT_NE(text.find(R"(name="a \"run\"")"), std::string::npos);
}

// All that there is to tell, each figure another one.
MetricsInput distinct() {
  MetricsInput all;
  all.snapshot.queue.resize(2);
  all.snapshot.host_reserve = 3;
  all.snapshot.host_promised = 4;
  DeviceView card;
  card.uuid = "GPU-a";
  card.physical = 5;
  card.used = 6;
  card.promised = 7;
  card.guaranteed = 8;
  card.budget = 9;
  card.overcommit_permille = 10'000;
  card.ratio_permille = 11'000;
  card.thrash_risk = true;
  card.context = 12;
  card.cores = 1300;
  card.utilisation = 14;
  card.fault = "Xid 79";
  card.excluded = true;
  card.tenants = 15;
  card.checkpointed = 16;
  all.snapshot.devices.push_back(card);
  all.foreign[0] = 0.17;
  all.strangers[0] = {18, {19}, {20}};
  all.faults[0] = {{79, 21}};
  all.faulty = {0};
  TenantView tenant;
  tenant.id = "t";
  tenant.created = 22;
  tenant.processes = 23;
  tenant.refused = 24;
  tenant.weight = 2700;
  tenant.throttled_ms = 28'000;
  tenant.waits = 29;
  tenant.escapes = 30;
  tenant.longest_us = 31'000'000;
  tenant.unpreemptible = true;
  tenant.distrusted = true;
  tenant.bypass = "process 1";
  tenant.swaps = 32;
  tenant.idle_known = true;
  tenant.idle_s = 33;
  tenant.cpu_permille = 34'000;
  ShareView share;
  share.uuid = "GPU-a";
  share.limit = 35;
  share.used = 36;
  share.guarantee = 37;
  share.resident = 38;
  share.swapped = 39;
  share.pinned = 40;
  share.cores = 4100;
  share.got_permille = 420;
  share.utilisation = 43;
  tenant.shares.push_back(share);
  all.snapshot.tenants.push_back(tenant);
  all.labels["t"] = {{"label_team", "x"}};
  all.tallies["t"] = {25, 26, 27.5};
  all.bills["t"][0] = {44.5, 45.5};
  all.late.add(0.25);
  all.latest = 46.5;
  all.refused = {47, 1047};
  return all;
}

// The figure of each family in distinct().
std::map<std::string, double> distinctFigures() {
  return {{"divvy_node_info", 1},
          {"divvy_queued_requests", 2},
          {"divvy_host_swap_bytes", 3},
          {"divvy_allocations_refused_total", 47},
          {"divvy_allocations_device_full_total", 1047},
          {"divvy_host_swap_committed_bytes", 4},
          {"divvy_agent_loop_lateness_max_seconds", 46.5},
          {"divvy_device_hardware_info", 1},
          {"divvy_device_memory_total_bytes", 5},
          {"divvy_device_memory_used_bytes", 6},
          {"divvy_device_memory_limits_bytes", 7},
          {"divvy_device_memory_guaranteed_bytes", 8},
          {"divvy_device_memory_budget_bytes", 9},
          {"divvy_device_overcommit_ratio", 10},
          {"divvy_device_memory_pressure_ratio", 11},
          {"divvy_device_thrash_risk", 1},
          {"divvy_device_context_bytes", 12},
          {"divvy_device_compute_requested_ratio", 13},
          {"divvy_device_utilisation_ratio", 0.14},
          {"divvy_device_hardware_healthy", 0},
          {"divvy_device_unmanaged_use", 0},
          {"divvy_device_excluded", 1},
          {"divvy_device_running_tenants", 15},
          {"divvy_device_checkpointed_tenants", 16},
          {"divvy_device_unmanaged_utilisation_ratio", 0.17},
          {"divvy_device_unmanaged_processes", 18},
          {"divvy_device_unmanaged_memory_bytes", 19},
          {"divvy_device_graphics_memory_bytes", 20},
          {"divvy_device_xid_errors_total", 21},
          {"divvy_tenant_info", 1},
          {"divvy_tenant_labels", 1},
          {"divvy_tenant_created_seconds", 22},
          {"divvy_tenant_processes", 23},
          {"divvy_tenant_allocations_refused_total", 24},
          {"divvy_tenant_allocations_device_full_total", 25},
          {"divvy_tenant_allocation_waits_total", 26},
          {"divvy_tenant_weight_ratio", 27},
          {"divvy_tenant_paused_seconds_total", 27.5},
          {"divvy_tenant_throttled_seconds_total", 28},
          {"divvy_tenant_launch_waits_total", 29},
          {"divvy_tenant_launch_waits_abandoned_total", 30},
          {"divvy_tenant_longest_work_seconds", 31},
          {"divvy_tenant_unpreemptible", 1},
          {"divvy_tenant_usage_mismatch", 1},
          {"divvy_tenant_bypass", 1},
          {"divvy_tenant_swaps_total", 32},
          {"divvy_tenant_idle_seconds", 33},
          {"divvy_tenant_overhead_cpu_ratio", 34},
          {"divvy_tenant_memory_limit_bytes", 35},
          {"divvy_tenant_memory_used_bytes", 36},
          {"divvy_tenant_memory_guaranteed_bytes", 37},
          {"divvy_tenant_memory_resident_bytes", 38},
          {"divvy_tenant_memory_swapped_bytes", 39},
          {"divvy_tenant_memory_pinned_bytes", 40},
          {"divvy_tenant_compute_requested_ratio", 41},
          {"divvy_tenant_compute_usage_ratio", 0.42},
          {"divvy_tenant_utilisation_ratio", 0.43},
          {"divvy_tenant_device_seconds_total", 44.5},
          {"divvy_tenant_memory_byte_seconds_total", 45.5}};
}

TEST(AgentMetrics, DistinctFigures_EachFamilyHasItsOwn) {
  std::map<std::string, double> told;
  for (const std::string& line : linesOf(exposition(distinct()))) {
    if (line.empty() || line.front() == '#') continue;
    const std::string name = line.substr(0, line.find_first_of("{ "));
    if (name.starts_with("divvy_agent_loop_lateness_seconds_")) continue;
    EXPECT_TRUE(told.emplace(name, std::stod(line.substr(line.rfind(' ')))).second) << line;
  }
  const std::map<std::string, double> wanted = distinctFigures();
  for (const auto& [name, value] : wanted) {
    ASSERT_TRUE(told.contains(name)) << name;
    EXPECT_DOUBLE_EQ(told[name], value) << name;
  }
  EXPECT_EQ(told.size(), wanted.size());
}

// Returns the sample, from its labels on, without that label; empty: unchanged.
std::string withoutLabel(std::string sample, std::string_view label) {
  if (label.empty()) return sample;
  const std::size_t begin = sample.find(std::string(label) + "=\"");
  if (begin == std::string::npos) return sample;
  std::size_t end = sample.find('"', begin + label.size() + 2) + 1;
  if (sample[end] == ',') ++end;
  return sample.erase(begin, end - begin);
}

TEST(AgentMetrics, DeprecatedNames_EachOldFamilyHasItsFigure) {
  const std::set<std::string> lines = linesOf(exposition(distinct(), {.deprecated = true}));
  const auto sampleOf = [&](std::string_view name) {
    std::string found;
    for (const std::string& line : lines)
      if (line.starts_with(std::string(name) + '{') || line.starts_with(std::string(name) + ' '))
        found = line.substr(name.size());
    return found;
  };
  std::size_t renamed = 0;
  for (const auto& [kind, old_name, name, added_label] : public_names::renamedNames()) {
    if (kind != public_names::NameKind::kAgentMetric) continue;
    const std::string sample = sampleOf(name);
    EXPECT_NE(sample, "") << name;
    const std::string old_sample = withoutLabel(sample, added_label);
    EXPECT_EQ(sampleOf(old_name), old_sample) << old_name;
    EXPECT_FALSE(linesOf(exposition(distinct())).contains(std::string(old_name) + old_sample));
    ++renamed;
  }
  EXPECT_GT(renamed, 20u);
}

TEST(AgentMetrics, PodLabels_AreExposed) {
  MetricsInput known = all();
  EXPECT_EQ(exposition(known).find("divvy_tenant_labels{"), std::string::npos);
  known.labels["0123"] = {{"label_team", "a \"b\""}, {"label_example_com_project", "p"}};
  EXPECT_TRUE(linesOf(exposition(known))
                  .contains(R"(divvy_tenant_labels{tenant="0123",label_team="a \"b\"",)"
                            R"(label_example_com_project="p"} 1)"));
}

TEST(MetricsLabels, LabelKeys_CheckedAndTranslated) {
  EXPECT_EQ(metricsLabelOf("app.kubernetes.io/part-of"), "label_app_kubernetes_io_part_of");
  EXPECT_EQ(parsePodLabels("team,example.com/project").value(),
            (std::vector<std::string>{"team", "example.com/project"}));
  for (const char* bad : {"", "team,", "a b", "a/b/c", "-a", "a{", "team,team", "a.b,a-b"})
    EXPECT_FALSE(parsePodLabels(bad)) << bad;
}

TEST(AgentMetrics, UnknownValue_NoSample) {
  MetricsInput known = all();
  EXPECT_EQ(exposition(known).find("divvy_device_unmanaged_utilisation_ratio{"), std::string::npos);
  EXPECT_EQ(exposition(known).find("divvy_device_memory_pressure_ratio{"), std::string::npos);
  EXPECT_EQ(exposition(known).find("divvy_tenant_compute_usage_ratio{tenant=\"4567\""),
            std::string::npos);
  EXPECT_EQ(exposition(known).find("divvy_tenant_idle_seconds{tenant=\"0123\""), std::string::npos);
  known.foreign[0] = 0.5;
  known.snapshot.devices[0].utilisation = -1;
  EXPECT_NE(exposition(known).find(
                "divvy_device_unmanaged_utilisation_ratio{node=\"worker-1\",device=\"GPU-a\"} 0.5"),
            std::string::npos);
  EXPECT_EQ(exposition(known).find("divvy_device_utilisation_ratio{"), std::string::npos);
}

// What dashboards that were made for HAMi's monitor look for, of pods' containers only.
TEST(AgentMetrics, HamiNamesEnabled_LegacySamplesWritten) {
  MetricsInput known = all();
  known.snapshot.devices[0].used = 3 * kGib;
  known.snapshot.tenants[0].shares[0].utilisation = 25;
  EXPECT_EQ(exposition(known).find("hami_"), std::string::npos);
  const std::string text = exposition(known, {.compat = true});
  const std::set<std::string> lines = linesOf(text);
  const std::string card =
      R"({node="worker-1",device_index="0",device_uuid="GPU-a",device_type="NVIDIA-H100",)"
      R"(zone="vGPU"})";
  const std::string old_card =
      R"({nodeid="worker-1",deviceidx="0",deviceuuid="GPU-a",devicetype="NVIDIA-H100",)"
      R"(zone="vGPU"})";
  const std::string container =
      R"({namespace="lab",pod="p-0",container="main",vdevice_index="0",device_uuid="GPU-a",)"
      R"(zone="vGPU"})";
  const std::string old_container =
      R"({podnamespace="lab",podname="p-0",ctrname="main",vdeviceid="0",deviceuuid="GPU-a",)"
      R"(zone="vGPU"})";
  for (const std::string& line :
       {"hami_host_gpu_memory_used_bytes" + card + " 3221225472",
        "HostGPUMemoryUsage" + old_card + " 3221225472",
        "hami_host_gpu_utilization_ratio" + card + " 40", "HostCoreUtilization" + old_card + " 40",
        "hami_vgpu_memory_limit_bytes" + container + " 2147483648",
        "vGPU_device_memory_limit_in_bytes" + old_container + " 2147483648",
        "vGPU_device_memory_usage_in_bytes" + old_container + " 1073741824",
        "hami_container_device_utilization_ratio" + container + " 25",
        "Device_utilization_desc_of_container" + old_container + " 25"})
    EXPECT_TRUE(lines.contains(line)) << line << '\n' << text;
  EXPECT_EQ(text.find("vGPU_device_memory_limit_in_bytes{podnamespace=\"\""), std::string::npos)
      << "a run that is no pod's";
  EXPECT_EQ(text.find("Device_last_kernel_of_container{"), std::string::npos) << "not known";
}

// Regression: while pods of another plugin ran on them, cards in order were told of as faulty.
TEST(AgentMetrics, HeldByOtherPlugin_HealthyButOccupied) {
  MetricsInput some = all();
  some.faulty.clear();
  some.snapshot.devices[0].fault = "pod a/b holds it from another plugin";
  const std::set<std::string> lines = linesOf(exposition(some));
  const auto ends = [&](const std::string& name, const std::string& value) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.starts_with(name + "{") && line.ends_with(" " + value);
    });
  };
  EXPECT_TRUE(ends("divvy_device_hardware_healthy", "1"));
  EXPECT_TRUE(ends("divvy_device_unmanaged_use", "1"));
}

TEST(AgentMetrics, MonitoringPage_ListsEveryFamily) {
  std::ifstream file(std::string(std::getenv("DIVVY_SOURCE_DIR")) +
                     "/docs/operations/monitoring.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(page.find(familiesTable()), std::string::npos) << familiesTable();
}

TEST(AgentMetrics, FamilyNames_BaseUnitsAndUnique) {
  std::set<std::string> names;
  for (const std::string& line : linesOf(exposition(all()))) {
    std::istringstream in(line);
    std::string hash, what, name, type;
    in >> hash >> what >> name >> type;
    if (what != "TYPE") continue;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << name;
    for (const char* wrong : {"_ms_", "_mib_", "_percent_", "_permille_", "_us_"})
      EXPECT_EQ((name + '_').find(wrong), std::string::npos) << name;
  }
  EXPECT_GT(names.size(), 40u);
}

TEST(UsageAccounting, TwoLooks_ChargesGotTime) {
  UsageAccounting accounts;
  std::vector<TenantView> tenants = all().snapshot.tenants;
  const UsageAccounting::SeenPart seen{{"4567", {{0, 0.5}}}};
  accounts.add(tenants, seen, 1000);
  EXPECT_EQ(accounts.bills().at("0123").at(0).device_seconds, 0) << "nothing is known of before";
  accounts.add(tenants, seen, 3000);
  EXPECT_DOUBLE_EQ(accounts.bills().at("0123").at(0).device_seconds, 0.5);
  EXPECT_DOUBLE_EQ(accounts.bills().at("0123").at(0).byte_seconds, 2.0 * kGib);
  EXPECT_DOUBLE_EQ(accounts.bills().at("4567").at(0).device_seconds, 1)
      << "behind an open gate the driver's word counts";
  tenants.pop_back();
  accounts.add(tenants, {}, 4000);
  EXPECT_FALSE(accounts.bills().contains("4567"));
  EXPECT_DOUBLE_EQ(accounts.bills().at("0123").at(0).device_seconds, 0.75);
}

// Counts of a process that ended were taken for a counter that began anew, and an alert was sent.
TEST(UsageAccounting, CountFallsAtProcessEnd_TallyOnlyGrows) {
  UsageAccounting accounts;
  std::vector<TenantView> tenants(1);
  tenants[0].id = "a";
  std::uint64_t last = 0;
  for (const std::uint64_t sum : {8u, 5u, 5u, 7u, 0u, 1u}) {
    tenants[0].refused_short = sum;
    accounts.add(tenants, {}, 1000);
    const std::uint64_t now = accounts.tallies().at("a").allocations_short;
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_EQ(last, 8u + 2u + 1u);
}

TEST(UsageAccounting, WaitingForMemory_CountsAsPaused) {
  UsageAccounting accounts;
  std::vector<TenantView> tenants(1);
  tenants[0].id = "a";
  std::uint64_t now = 1000;
  const auto after = [&](const char* memory) {
    tenants[0].memory = memory;
    accounts.add(tenants, {}, now += 2000);
    return accounts.tallies().at("a").paused;
  };
  EXPECT_EQ(after("waiting"), 0) << "nothing is known of before";
  EXPECT_DOUBLE_EQ(after("waiting"), 2);
  EXPECT_DOUBLE_EQ(after("coming"), 4);
  for (const char* memory : {"resident", "kept", "out"}) EXPECT_DOUBLE_EQ(after(memory), 4);
}

// An agent that was stopped for a minute charged all of it to who was there when it went on.
TEST(UsageAccounting, LongGapOrClockBack_NotCharged) {
  UsageAccounting accounts;
  const std::vector<TenantView> tenants = all().snapshot.tenants;
  accounts.add(tenants, {}, 1000);
  accounts.add(tenants, {}, 61'000);
  EXPECT_EQ(accounts.bills().at("0123").at(0).byte_seconds, 0);
  accounts.add(tenants, {}, 60'000);
  EXPECT_EQ(accounts.bills().at("0123").at(0).byte_seconds, 0) << "a clock that went back";
}

}  // namespace
}  // namespace divvy::agent
