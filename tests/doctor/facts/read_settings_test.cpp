// Settings of nodes: who names which file, and which are found where nobody does.
#include <gtest/gtest.h>

#include "doctor/read_node.h"
#include "made_tree.h"

namespace divvy::doctor {
namespace {

const std::string kSettings = "/etc/divvy/node-settings.yaml";
const std::string kPodsSettings = "/volumes/kubernetes.io~configmap/config/node-settings.yaml";

TEST(ReadSettings, SeveralFiles_NamedWithPlaceAndSource) {
  MadeTree made;
  made.healthyNode();
  made.file("/var/lib/kubelet/pods/6f1c" + kPodsSettings, "sett");
  made.file("/etc/default/divvy-agent", "DIVVY_AGENT_ARGS='--node-settings /gone.yaml'\n");
  made.answer.settings = NamedText{"/in/its/container.yaml", std::string("sett")};
  NodeOptions terms = made.terms();
  terms.settings_file = "/etc/mine.yaml";
  const Result<RootFs> tree = RootFs::open(made.root());
  ASSERT_TRUE(tree);
  const Findings findings = diagnose(readNode(*tree, terms), {"node-settings"});
  EXPECT_EQ(
      saidOf(findings, "node-settings"),
      "fault /etc/mine.yaml: does not exist, and --node-settings names it\nfault "
      "/in/its/container.yaml: /in/its/container.yaml:1:1: lacks settings\nfault /gone.yaml: does "
      "not exist, and /etc/default/divvy-agent names it\nok /etc/divvy/node-settings.yaml: all "
      "settings are used\nfault /var/lib/kubelet/pods/6f1c" +
          kPodsSettings + ": /var/lib/kubelet/pods/6f1c" + kPodsSettings +
          ":1:1: lacks settings\n");
}

TEST(ReadSettings, SamePathTwice_OneFindingPerDistinctText) {
  MadeTree made;
  made.healthyNode();
  made.answer.settings = NamedText{kSettings, made.text(kSettings)};
  EXPECT_EQ(saidOf(made.findings(), "node-settings"),
            "ok " + kSettings + ": all settings are used\n");
  // A container's own.
  made.answer.settings->text = std::string("sett");
  EXPECT_EQ(stateOf(made.findings(), "node-settings"), FindingState::kFault);
  EXPECT_NE(saidOf(made.findings(), "node-settings").find("ok " + kSettings), std::string::npos);
}

// That there are none is known of an agent that says so; else nobody knows.
TEST(ReadSettings, NoSettings_OkOnlyWhereAgentSaysSo) {
  MadeTree made;
  made.healthyNode();
  made.remove(kSettings);
  EXPECT_EQ(stateOf(made.findings(), "node-settings"), FindingState::kSkipped);
  made.answer.words_known = true;
  EXPECT_EQ(saidOf(made.findings(), "node-settings"), "ok /run/divvy/gpu: it has none\n");
  NodeFacts facts = made.read();
  facts.settings.unlisted = Error(ErrorCode::kIo, "/var/lib/kubelet/pods: Permission denied");
  EXPECT_EQ(saidOf(diagnose(facts), "node-settings"),
            "skipped : /var/lib/kubelet/pods: Permission denied\n");
}

}  // namespace
}  // namespace divvy::doctor
