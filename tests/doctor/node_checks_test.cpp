// What trees cannot show: full disks, clocks, agents that do not answer; and the list itself.
#include <gtest/gtest.h>

#include <set>

#include "base/bytes.h"
#include "made_tree.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

NodeFacts healthy() {
  MadeTree made;
  made.healthyNode();
  return made.read();
}

TEST(NodeChecks, DiskSpace_WarningBeforeFault) {
  const struct {
    std::uint64_t free, files, files_free;
    bool read_only;
    FindingState state;
  } cases[] = {{gib(1).count, 1000, 900, false, FindingState::kOk},
               {gib(1).count, 0, 0, false, FindingState::kOk},  // btrfs counts no files
               {mib(1).count, 1000, 900, false, FindingState::kWarning},
               {0, 1000, 900, false, FindingState::kFault},
               {gib(1).count, 1000, 3, false, FindingState::kWarning},
               {gib(1).count, 1000, 0, false, FindingState::kFault},
               {gib(1).count, 1000, 900, true, FindingState::kFault}};
  for (const auto& one : cases) {
    NodeFacts facts = healthy();
    facts.runtimes.front().space =
        FileSystemSpace{gib(8).count, one.free, one.files, one.files_free, one.read_only, false};
    EXPECT_EQ(stateOf(diagnose(facts), "agent-space"), one.state)
        << one.free << ' ' << one.files_free;
  }
  NodeFacts facts = healthy();
  facts.install.staged_space->noexec = true;
  EXPECT_EQ(stateOf(diagnose(facts), "staged-libraries"), FindingState::kFault);
  facts.machine.shm_space->free = 4096;
  EXPECT_EQ(stateOf(diagnose(facts), "shared-memory"), FindingState::kWarning);
}

TEST(NodeChecks, Clock_JudgedByKernel) {
  NodeFacts facts = healthy();
  facts.machine.clock_synchronised = false;
  EXPECT_EQ(stateOf(diagnose(facts), "clock"), FindingState::kWarning);
  facts.machine.clock_synchronised = true;
  facts.machine.clock_error_us = 16'000'000;
  EXPECT_EQ(stateOf(diagnose(facts), "clock"), FindingState::kWarning);
  facts.machine.clock_error_us = 20'000;
  EXPECT_EQ(stateOf(diagnose(facts), "clock"), FindingState::kOk);
  facts.machine.clock_synchronised.reset();
  EXPECT_EQ(stateOf(diagnose(facts), "clock"), FindingState::kSkipped);
}

TEST(NodeChecks, AgentSilentOrGone_FaultOrWarning) {
  NodeFacts facts = healthy();
  AgentFacts& agent = facts.runtimes.front().agents.front();
  agent.answer = Error(ErrorCode::kUnavailable, "the agent does not answer");
  EXPECT_EQ(stateOf(diagnose(facts), "agent-answers"), FindingState::kFault);
  EXPECT_EQ(stateOf(diagnose(facts), "agent-version"), FindingState::kSkipped);
  agent.answer = Error(ErrorCode::kNotFound, "nobody listens");
  EXPECT_EQ(stateOf(diagnose(facts), "agent-answers"), FindingState::kWarning);
  agent.tenants = 0;
  agent.socket = false;
  EXPECT_EQ(stateOf(diagnose(facts), "agent-answers"), FindingState::kOk);
}

TEST(NodeChecks, AgentLoopLate_Warning) {
  NodeFacts facts = healthy();
  AgentAnswer& answer = *facts.runtimes.front().agents.front().answer;
  EXPECT_EQ(stateOf(diagnose(facts), "agent-loop"), FindingState::kOk);
  answer.loop_late_ms = 51;
  EXPECT_EQ(stateOf(diagnose(facts), "agent-loop"), FindingState::kWarning);
  answer.loop_late_ms = -1;
  EXPECT_EQ(stateOf(diagnose(facts), "agent-loop"), FindingState::kSkipped) << "it is not measured";
}

// Users who are not root were told that all was well with folders that they cannot look into.
TEST(NodeChecks, FolderNotAccessible_Skipped) {
  NodeFacts facts = healthy();
  facts.runtimes.front().agents.front().anomalies = {
      {"/run/divvy/gpu", "Permission denied", true, PathAnomaly::Kind::kAccess}};
  for (const char* id : {"agent-state", "agent-folders"}) {
    const Findings findings = diagnose(facts, {id});
    ASSERT_EQ(findings.size(), 1u) << saidOf(findings, id);
    EXPECT_EQ(findings.front().state, FindingState::kSkipped);
  }
}

TEST(NodeChecks, Ids_UniqueAndKebabCase) {
  std::set<std::string> ids;
  for (const Check& one : checks()) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    EXPECT_EQ(one.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
    EXPECT_FALSE(one.question.empty()) << one.id;
    EXPECT_EQ(checkNamed(one.id)->id, one.id);
  }
  EXPECT_EQ(checkNamed("no-such-check"), nullptr);
}

TEST(NodeChecks, SelectedChecks_OnlyThoseRun) {
  const Findings findings = diagnose(healthy(), {"clock", "host-preload"});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].id, "host-preload");
  EXPECT_EQ(findings[1].id, "clock");
}

TEST(NodeChecks, ManyOfOneKind_CountedBeyondMaximum) {
  NodeFacts facts = healthy();
  for (int i = 0; i < 100; ++i)
    facts.runtimes.front().anomalies.push_back(
        {"/run/divvy/x" + std::to_string(i), "is foreign", false, PathAnomaly::Kind::kForeign});
  const Findings findings = diagnose(facts, {"agent-state"});
  ASSERT_EQ(findings.size(), kMaxOfOne + 1);
  EXPECT_EQ(findings.back().seen, "80 more of the same kind");
}

TEST(Format, VersionsAndLists_ComparedAndJoined) {
  EXPECT_LT(compareVersions("1.9.0", "1.17.8"), 0);
  EXPECT_EQ(compareVersions("1.17.8-1", "1.17.8"), 0);
  EXPECT_GT(compareVersions("2.0", "1.17.8"), 0);
  EXPECT_EQ(versionIn("NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release"),
            "550.54.14");
  EXPECT_EQ(versionIn("no number. here 7"), "");
  EXPECT_EQ(joined({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(joined({"a", "b", "c", "d", "e"}, 2), "a, b and 3 more");
}

}  // namespace
}  // namespace divvy::doctor
