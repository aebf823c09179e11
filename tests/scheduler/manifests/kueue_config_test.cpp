// Kueue's configuration: what a quota counts of a share. Kueue itself reads it in
// tests/cluster/queues.
#include "scheduler/kueue_config.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

namespace divvy::scheduler {
namespace {

struct Transformation {
  std::string multiply_by, output;
};
struct Printed {
  std::map<std::string, Transformation> transformations;  // by input
  std::set<std::string> excluded;
  std::string text;
};

std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t begin = text.find(before) + before.size();
  return text.substr(begin, text.find(after, begin) - begin);
}

Printed printed(KueueRole role) {
  Printed all;
  all.text = kueueConfiguration(*vendors::Catalog::of(vendors::builtIn()), role);
  std::istringstream lines(all.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  - {input: ")) {
      const bool added = all.transformations
                             .emplace(between(line, "input: ", ","),
                                      Transformation{between(line, "multiplyBy: ", ","),
                                                     between(line, "outputs: {", ":")})
                             .second;
      EXPECT_TRUE(added) << line;
      EXPECT_NE(line.find("strategy: Replace"), line.npos);
    } else if (line.starts_with("  - ")) {
      all.excluded.insert(line.substr(4));
    }
  }
  return all;
}

TEST(KueueConfiguration, MemoryOfEachDevice_CountsForAllOfThem) {
  const Printed alone = printed(KueueRole::kAlone);
  const Transformation& memory = alone.transformations.at("nvidia.com/gpumem");
  EXPECT_EQ(memory.multiply_by, "nvidia.com/gpu");
  EXPECT_EQ(memory.output, "nvidia.com/total-gpumem");
  EXPECT_EQ(alone.transformations.at("nvidia.com/gpucores").multiply_by, "nvidia.com/gpu");
}

TEST(KueueConfiguration, OwnNames_AreCountedByTheOwnCount) {
  const Printed alone = printed(KueueRole::kAlone);
  const Transformation& memory = alone.transformations.at("divvy.dev/gpumem");
  EXPECT_EQ(memory.multiply_by, "divvy.dev/gpu");
  EXPECT_EQ(memory.output, "divvy.dev/total-gpumem");
}

TEST(KueueConfiguration, ExcludedPrefixes_ExcludeNothingCounted) {
  const Printed alone = printed(KueueRole::kAlone);
  EXPECT_TRUE(alone.excluded.contains("nvidia.com/gpumem-percentage"));
  EXPECT_TRUE(alone.excluded.contains("nvidia.com/priority"));
  for (const std::string& prefix : alone.excluded)
    for (const auto& [input, one] : alone.transformations)
      for (const std::string& counted : {input, one.multiply_by, one.output})
        EXPECT_FALSE(counted.starts_with(prefix)) << counted;
}

TEST(KueueConfiguration, Manager_NamesTheHubAndTheGateThatItNeeds) {
  const Printed manager = printed(KueueRole::kManager), alone = printed(KueueRole::kAlone);
  const std::string dispatcher = "multiKueue: {dispatcherName: divvy.dev/dispatcher}\n";
  EXPECT_NE(manager.text.find(dispatcher), std::string::npos);
  EXPECT_NE(manager.text.find("{WorkloadRequestUseMergePatch: true}"), std::string::npos);
  EXPECT_EQ(alone.text.find("dispatcher"), std::string::npos);
  EXPECT_EQ(manager.excluded, alone.excluded);
  EXPECT_EQ(manager.transformations.size(), alone.transformations.size());
}

TEST(KueueConfiguration, NoVendors_IsStillAConfiguration) {
  const std::string text = kueueConfiguration(*vendors::Catalog::of({}), KueueRole::kAlone);
  EXPECT_TRUE(text.ends_with("kind: Configuration\nresources: {}\n")) << text;
}

}  // namespace
}  // namespace divvy::scheduler
