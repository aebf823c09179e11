#include "public_names/public_names.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace divvy::public_names {
namespace {

std::string sourceFile(const std::string& path) {
  const char* root = std::getenv("DIVVY_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + '/' + path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool isMetric(const RenamedName& one) {
  return one.kind == NameKind::kAgentMetric || one.kind == NameKind::kSchedulerMetric;
}

// Old and present names of both daemons are scraped by one Prometheus for a release.
TEST(RenamedNames, Metrics_NoNameHasTwoMeanings) {
  std::set<std::string_view> names{"divvy_device_info"};  // the scheduler's, not renamed
  for (const RenamedName& one : renamedNames()) {
    if (!isMetric(one)) continue;
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_TRUE(names.insert(one.old_name).second) << one.old_name;
    EXPECT_EQ(one.name.ends_with("_total"), one.old_name.ends_with("_total")) << one.name;
  }
}

TEST(RenamedNames, Lookups_FindBothWays) {
  EXPECT_EQ(presentName(NameKind::kSchedulerMetric, "divvy_scheduler_kicks_total"),
            "divvy_scheduler_requeues_total");
  EXPECT_EQ(presentName(NameKind::kAgentMetric, "divvy_scheduler_kicks_total"), "");
  EXPECT_EQ(oldMetricName("divvy_device_unmanaged_use"), "divvy_card_occupied");
  EXPECT_EQ(oldMetricName("divvy_tenant_info"), "");
  EXPECT_EQ(addedLabel("divvy_device_unmanaged_use"), "node");
  EXPECT_EQ(addedLabel("divvy_device_schedulable"), "");
  EXPECT_EQ(addedLabel("divvy_tenant_info"), "");
  EXPECT_EQ(oldAnnotationKey("divvy.dev/reservation"), "divvy.dev/plan");
  EXPECT_EQ(oldAnnotationKey("divvy.dev/plan"), "");
  EXPECT_EQ(oldAnnotationKey("use.divvy.dev/resize"), "use.divvy.dev/change");
  EXPECT_EQ(presentName(NameKind::kAlert, "DivvyCardOccupied"), "DivvyDeviceNotAllocatable");
}

TEST(RenamedNames, Text_OnlyWholeOldNamesAreReplaced) {
  EXPECT_EQ(withPresentNames("sum(divvy_card_memory_bytes{a=\"b\"}) / divvy_card_memory_bytes"),
            "sum(divvy_device_memory_total_bytes{a=\"b\"}) / divvy_device_memory_total_bytes");
  EXPECT_EQ(withPresentNames("kubectl get -o jsonpath='{.divvy.dev/full}', divvy.dev/plan: x"),
            "kubectl get -o jsonpath='{.divvy.dev/full}', divvy.dev/reservation: x");
  EXPECT_EQ(withPresentNames("divvy set web; divvy settle"), "divvy resize web; divvy settle");
  for (const char* kept : {"my_divvy_card_info", "divvy.dev/full-devices", "use.divvy.dev/plan",
                           "divvy_card_info_2", "beside", "Works", ""})
    EXPECT_EQ(withPresentNames(kept), kept);
  std::string old_names, names;
  for (const RenamedName& one : renamedNames()) {
    if (one.kind == NameKind::kReason || one.kind == NameKind::kCondition ||
        one.kind == NameKind::kNextAnnotation)
      continue;
    old_names += std::string(one.old_name) + '\n';
    names += std::string(one.name) + '\n';
  }
  EXPECT_EQ(withPresentNames(old_names), names);
  EXPECT_EQ(withPresentNames(names), names);
}

// A matcher of the label keeps alerts of this release; the present name would match none.
TEST(RenamedNames, AlertText_OldNameLabelStays) {
  EXPECT_EQ(withPresentNames("ALERTS{alertname=\"DivvyPodsWait\"}, alertname: DivvyPodsWait"),
            "ALERTS{alertname=\"DivvyPodsUnschedulable\"}, alertname: DivvyPodsUnschedulable");
  for (const char* kept : {"old_name: DivvyPodsWait", "{old_name=\"DivvyPodsWait\"}",
                           "old_name =~ 'DivvyPodsWait'", R"({\"old_name\":\"DivvyPodsWait\"})"})
    EXPECT_EQ(withPresentNames(kept), kept);
}

// This release writes the old keys of a resize: a script that reads them works with these only.
TEST(RenamedNames, NextAnnotationText_Stays) {
  for (const char* kept : {"use.divvy.dev/change", "divvy.dev/change-state", "divvy.dev/changes"})
    EXPECT_EQ(withPresentNames(kept), kept);
}

TEST(RenamedNames, Page_HasEveryTable) {
  const std::string page = sourceFile("docs/reference/public-names.md");
  for (const NameKind kind :
       {NameKind::kAgentMetric, NameKind::kSchedulerMetric, NameKind::kAlert, NameKind::kAnnotation,
        NameKind::kNextAnnotation, NameKind::kReason, NameKind::kCondition, NameKind::kCommand})
    EXPECT_NE(page.find(table(kind)), std::string::npos)
        << "docs/reference/public-names.md does not have this table:\n"
        << table(kind);
}

}  // namespace
}  // namespace divvy::public_names
