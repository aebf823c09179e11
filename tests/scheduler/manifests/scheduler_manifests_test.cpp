// Each template gives a manifest, and the manifests in deploy/kubernetes are those of the program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "manifests/manifest_template.h"
#include "scheduler/admission_policies.h"
#include "scheduler/fencing_policy.h"
#include "scheduler/manifests.h"
#include "scheduler/queue_crd.h"

namespace divvy::scheduler {
namespace {

// Made with the default options: text by file of deploy/kubernetes.
std::map<std::string, std::string> defaultManifests() {
  const vendors::Catalog all = *vendors::Catalog::of(vendors::builtIn());
  const char* const name = "divvy-scheduler";
  const std::pair<const char*, Result<std::string>> made[] = {
      {"scheduler-config.yaml", schedulerConfig(all, name)},
      {"webhook.yaml", webhookConfig(all, name)},
      {"fencing.yaml", fencingPolicy(all, name)},
      {"queues.yaml", queuesManifest(name)},
      {"policies.yaml", policies(all, {})}};
  std::map<std::string, std::string> texts;
  for (const auto& [file, text] : made) {
    EXPECT_TRUE(text) << file << ": " << (text ? "" : text.error().message());
    texts[file] = text ? *text : "";
  }
  return texts;
}

std::string deployed(const std::string& name) {
  std::ifstream file(std::string(std::getenv("DIVVY_SOURCE_DIR")) + "/deploy/kubernetes/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The line after each "- name: asks-for-devices".
std::vector<std::string> deviceConditions(const std::string& text) {
  const std::string before = "- name: asks-for-devices\n";
  std::vector<std::string> found;
  for (std::size_t at = text.find(before); at != text.npos; at = text.find(before, at + 1)) {
    const std::size_t begin = text.find('\n', at + before.size()) + 1;
    const std::size_t first = text.find_first_not_of(' ', begin);
    found.push_back(text.substr(first, text.find('\n', first) - first));
  }
  return found;
}

TEST(SchedulerManifests, DeployedFile_IsWhatTheProgramPrints) {
  for (const auto& [file, text] : defaultManifests())
    EXPECT_EQ(deployed(file), text) << file << ": divvy scheduler --print regenerates it";
}

TEST(SchedulerManifests, EachTemplate_HasNoPlaceholderLeft) {
  const std::map<std::string, std::string> made = defaultManifests();
  for (const ManifestTemplate& one : manifestTemplates()) {
    const std::string name = one.name;
    const std::string folder = "policies/";
    if (!name.starts_with(folder)) {
      EXPECT_EQ(made.count(name), 1u) << name;
    } else if (name != "policies/header.yaml") {
      const std::string stem = name.substr(folder.size(), name.size() - folder.size() - 5);
      EXPECT_NE(made.at("policies.yaml").find("  name: divvy-" + stem + "\n"), std::string::npos)
          << name;
    }
  }
  EXPECT_EQ(manifestTemplates().size(), 15u);
  for (const auto& [file, text] : made) {
    EXPECT_EQ(text.find('@'), std::string::npos) << file;
    EXPECT_EQ(text.find("#!"), std::string::npos) << file;
    EXPECT_EQ(text.find("\\\n"), std::string::npos) << file;
  }
}

TEST(SchedulerManifests, AllFeasible_AddsOneLine) {
  const vendors::Catalog all = *vendors::Catalog::of(vendors::builtIn());
  std::string with = *schedulerConfig(all, "s", true);
  const std::string line = "    prioritizeVerb: prioritize\n";
  const std::size_t at = with.find(line);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(with.erase(at, line.size()), *schedulerConfig(all, "s"));
}

// Templates spell this condition out three times.
TEST(SchedulerManifests, ConditionsOfWebhookAndPolicies_AreTheSame) {
  const std::map<std::string, std::string> made = defaultManifests();
  std::vector<std::string> found = deviceConditions(made.at("policies.yaml"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(deviceConditions(made.at("webhook.yaml")), std::vector<std::string>{found[0]});
}

TEST(FencingPolicy, RefusalThatLasts_IsExplained) {
  EXPECT_EQ(explainFenced("pods \"p\" is forbidden: no quota"),
            "pods \"p\" is forbidden: no quota");
  EXPECT_NE(explainFenced("denied: no params found for policy binding with `Deny` action")
                .find("restart API servers"),
            std::string::npos);
  const std::string policy = defaultManifests().at("fencing.yaml");
  const std::string said = "it was decided in a term of the scheduler's Lease that is over";
  ASSERT_NE(policy.find("message: " + said + "\n"), std::string::npos);
  EXPECT_NE(explainFenced("denied request: " + said).find("if this persists"), std::string::npos);
}

}  // namespace
}  // namespace divvy::scheduler
