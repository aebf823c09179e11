// `divvy doctor` as it is run: exit statuses, live and stopped agents, clusters, bundles.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <boost/json.hpp>

#include "fake_cluster.h"
#include "made_tree.h"
#include "sandbox.h"

namespace divvy::test {
namespace {

namespace json = boost::json;
using doctor::MadeTree;

// The worst of the findings under `id` that do not speak of `elsewhere`.
std::string stateOf(const json::value& report, const std::string& id,
                    const std::string& elsewhere = "") {
  for (const char* state : {"fault", "warning", "skipped", "ok"})
    for (const json::value& one : report.at("findings").as_array())
      if (one.at("id").as_string() == id && one.at("state").as_string() == state &&
          (elsewhere.empty() || one.at("subject").as_string().find(elsewhere) == std::string::npos))
        return state;
  return "absent";
}

json::value parsed(const Outcome& outcome) {
  boost::system::error_code fault;
  json::value value = json::parse(outcome.out, fault);
  EXPECT_FALSE(fault) << outcome.out << outcome.err;
  return value;
}

TEST(Doctor, OtherRoot_ReadsItsFilesOnly) {
  MadeTree made;
  made.healthyNode();
  Sandbox sandbox;
  const Words words{"doctor", "--node", "--root", made.root(), "-o", "json"};
  const Outcome well = sandbox.divvy(words);
  EXPECT_EQ(well.code(), 0) << well.out << well.err;
  const json::value report = parsed(well);
  EXPECT_EQ(stateOf(report, "driver-loaded"), "ok");
  EXPECT_EQ(stateOf(report, "kubelet-sockets"), "ok");
  EXPECT_EQ(stateOf(report, "api-server"), "absent");
  // Its socket is there, and nobody behind it.
  EXPECT_EQ(stateOf(report, "agent-answers"), "warning");
  made.remove("/proc/driver");
  const Outcome ill = sandbox.divvy(words);
  EXPECT_EQ(ill.code(), 3) << ill.err;
  EXPECT_EQ(stateOf(parsed(ill), "driver-loaded"), "fault");
  const Outcome text = sandbox.divvy({"doctor", "--node", "--root", made.root()});
  EXPECT_EQ(text.code(), 3);
  EXPECT_EQ(text.out.find("1 fault\n  driver-loaded: "), 0u) << text.out;
}

TEST(Doctor, AgentStopped_FaultAlsoThroughMountedRoot) {
  Sandbox sandbox;
  const Child tenant = sandbox.run("4Gi", {"sleep", "60"});
  ASSERT_TRUE(sandbox.tenantCount(1));
  const std::string only = "agent-answers,agent-version,agent-state,agent-folders";
  const std::size_t slash = sandbox.root().rfind('/');
  const Words direct{"doctor", "--node", "-o", "json", "--only", only};
  const Words mounted{"doctor",
                      "--node",
                      "-o",
                      "json",
                      "--only",
                      only,
                      "--root",
                      sandbox.root().substr(0, slash),
                      "--runtime-dir",
                      sandbox.root().substr(slash)};
  for (const Words& words : {direct, mounted}) {
    const Outcome outcome = sandbox.divvy(words);
    const json::value report = parsed(outcome);
    EXPECT_EQ(outcome.code(), report.at("worst").as_string() == "fault" ? 3 : 0) << outcome.err;
    // This machine may have agents of its own, or what they left.
    for (const char* id : {"agent-answers", "agent-version", "agent-state", "agent-folders"})
      EXPECT_EQ(stateOf(report, id, "/run/divvy"), "ok") << outcome.out << outcome.err;
  }
  const int agent = sandbox.agentPid();
  ASSERT_GT(agent, 0);
  kill(agent, SIGSTOP);
  const Outcome stopped = sandbox.divvy(direct);
  kill(agent, SIGCONT);
  EXPECT_EQ(stopped.code(), 3) << stopped.out;
  EXPECT_EQ(stateOf(parsed(stopped), "agent-answers", "/run/divvy"), "fault");
}

// The seen of the first finding under `id` that speaks of `subject`.
std::string seenOf(const json::value& report, const std::string& id, const std::string& subject) {
  for (const json::value& one : report.at("findings").as_array())
    if (one.at("id").as_string() == id && one.at("subject").as_string() == subject)
      return std::string(one.at("state").as_string()) + ": " +
             std::string(one.at("seen").as_string());
  return "absent";
}

TEST(Doctor, NodeSettingsFile_ErrorsNamedByLine) {
  MadeTree made;
  made.healthyNode();
  Sandbox sandbox;
  const std::string file = "/srv/nodes.yaml";
  const Words words{"doctor",          "--node", "--root", made.root(),
                    "--node-settings", file,     "-o",     "json"};
  const struct {
    const char* text;
    const char* said;
  } cases[] = {
      {"settings:\n- nodes: ['*']\n  cores: 80\n", "ok: all settings are used"},
      {"settings:\n- nodes: ['*']\n  cor: 80\n",
       "warning: /srv/nodes.yaml:3:3: \"cor\" is unknown; accepted: nodes, exclude, per_device, "
       "cores, overcommit, device_budget, host_reserve, announce_numa"},
      {"settings:\n- nodes: ['*']\n  cores: 800\n", "fault: /srv/nodes.yaml:3:10: "},
      {"settings:\n- nodes: ['*'\n", "fault: /srv/nodes.yaml:"},
      {"{\"nodeconfig\": [{\"name\": \"n\", \"devicesplitcou", "fault: /srv/nodes.yaml:1:"},
      {"", "fault: /srv/nodes.yaml:"},
  };
  for (const auto& one : cases) {
    made.file(file, one.text);
    const Outcome outcome = sandbox.divvy(words);
    const std::string seen = seenOf(parsed(outcome), "node-settings", file);
    EXPECT_EQ(seen.find(one.said), 0u) << one.text << '\n' << seen;
    EXPECT_EQ(outcome.code(), seen.starts_with("fault") ? 3 : 0) << outcome.out;
  }
  made.file(file, "settings:\n- nodes: ['*']\n  cores: 800\n");
  EXPECT_NE(seenOf(parsed(sandbox.divvy(words)), "node-settings", file).find("accepted: "),
            std::string::npos);
}

// Regression: a path as the shell completes it was refused.
TEST(Doctor, RelativeSettingsPath_ReadFromWorkingDirectory) {
  MadeTree made;
  const std::string file = made.root() + "/nodes.yaml";
  made.file("/nodes.yaml", "settings:\n- nodes: ['*']\n  cores: 800\n");
  const std::string relative = std::filesystem::relative(file);
  ASSERT_NE(relative[0], '/');
  Sandbox sandbox;
  Words words{"doctor", "--node", "--only",          "node-settings",
              "-o",     "json",   "--node-settings", relative};
  const Outcome found = sandbox.divvy(words);
  EXPECT_EQ(seenOf(parsed(found), "node-settings", file).find("fault: " + file + ":3:10: "), 0u)
      << found.out << found.err;
  words.insert(words.end(), {"--root", made.root()});
  const Outcome elsewhere = sandbox.divvy(words);
  EXPECT_EQ(elsewhere.code(), 2);
  EXPECT_NE(elsewhere.err.find("is relative; an absolute path is accepted"), std::string::npos)
      << elsewhere.err;
}

// Who runs goes on with what it read: what was spoiled since is found before it begins anew.
TEST(Doctor, SettingsOfRunningAgent_FoundByItsCommandLine) {
  Sandbox sandbox("sim-h100");
  MadeTree made;
  made.file("/good.yaml", "settings:\n- nodes: ['*']\n  cores: 80\n");
  const std::string file = made.real("/good.yaml");
  const Words words{"doctor", "--node", "-o", "json", "--only", "node-settings"};
  for (const bool joined : {true, false}) {
    Words start{"agent", "--node", "sim-h100"};
    if (joined) start.push_back("--node-settings=" + file);
    if (!joined) start.insert(start.end(), {"--node-settings", file});
    made.file("/good.yaml", "settings:\n- nodes: ['*']\n  cores: 80\n");
    Child agent = sandbox.start(start);
    ASSERT_TRUE(agent.complained("ready"));
    EXPECT_EQ(seenOf(parsed(sandbox.divvy(words)), "node-settings", file),
              "ok: all settings are used");
    made.file("/good.yaml", "settings:\n- nodes: ['*']\n  cores: [\n");
    const Outcome spoiled = sandbox.divvy(words);
    EXPECT_EQ(spoiled.code(), 3) << spoiled.out;
    EXPECT_EQ(seenOf(parsed(spoiled), "node-settings", file).find("fault: " + file + ":"), 0u)
        << spoiled.out;
    made.remove("/good.yaml");
    EXPECT_EQ(seenOf(parsed(sandbox.divvy(words)), "node-settings", file),
              "fault: does not exist, and the agent of " + sandbox.root() + "/sim-h100 names it");
    agent.signal(SIGTERM);
    EXPECT_EQ(agent.wait().code(), 0);
  }
}

TEST(Doctor, NoAgentRunning_NoneStartedAndNoFiles) {
  Sandbox sandbox;
  const Outcome outcome =
      sandbox.divvy({"doctor", "--node", "-o", "json", "--only", "agent-answers,agent-state"});
  const json::value report = parsed(outcome);
  EXPECT_EQ(outcome.code(), report.at("worst").as_string() == "fault" ? 3 : 0) << outcome.err;
  EXPECT_NE(stateOf(report, "agent-answers", "/run/divvy"), "fault") << outcome.out;
  EXPECT_EQ(sandbox.files(), Words());
}

TEST(Doctor, HealthyCluster_EveryFindingOk) {
  const FakeCluster cluster(healthyCluster());
  Sandbox sandbox;
  const Outcome outcome =
      sandbox.divvy({"doctor", "--cluster", "--kubeconfig", cluster.kubeconfig(), "-o", "json"});
  EXPECT_EQ(outcome.code(), 0) << outcome.out << outcome.err;
  const json::value report = parsed(outcome);
  for (const json::value& one : report.at("findings").as_array()) {
    // Its Lease does not move: nothing tells of its clock.
    if (one.at("id").as_string() == "clock-skew") continue;
    EXPECT_EQ(one.at("state").as_string(), "ok") << json::serialize(one);
  }
  EXPECT_TRUE(report.at("node").is_null());
}

TEST(Doctor, BrokenCluster_FaultsAndUnreadableSkipped) {
  auto objects = healthyCluster();
  objects["/apis/discovery.k8s.io/v1/namespaces/divvy-system/endpointslices"] =
      FakeCluster::list("");
  objects["/api/v1/nodes"] = FakeCluster::list(
      R"({"metadata":{"name":"n","annotations":{"hami.io/node-nvidia-register":"{{"}}})");
  objects["/api/v1/pods"] = {403, R"({"kind":"Status","message":"pods is forbidden"})"};
  objects["/apis/monitoring.coreos.com/v1/prometheusrules"] =
      FakeCluster::list(R"({"metadata":{"name":"gpus","namespace":"team"},)"
                        R"("spec":{"expr":"divvy_card_healthy == 0"}},)"
                        R"({"metadata":{"name":"divvy-alerts","namespace":"divvy-system"},)"
                        R"("spec":{"expr":"divvy_card_healthy == 0"}})");
  objects.erase("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies");
  const FakeCluster cluster(objects);
  Sandbox sandbox;
  const Outcome outcome =
      sandbox.divvy({"doctor", "--cluster", "--kubeconfig", cluster.kubeconfig(), "-o", "json"});
  EXPECT_EQ(outcome.code(), 3) << outcome.out << outcome.err;
  const json::value report = parsed(outcome);
  EXPECT_EQ(stateOf(report, "webhook-answers"), "fault");
  EXPECT_EQ(stateOf(report, "node-registrations"), "fault");
  EXPECT_EQ(stateOf(report, "waiting-pods"), "skipped");
  EXPECT_EQ(stateOf(report, "admission-policies"), "warning");
  EXPECT_EQ(stateOf(report, "scheduler-lease"), "ok");
  EXPECT_EQ(stateOf(report, "deprecated-names"), "warning");
  EXPECT_EQ(outcome.out.find("PrometheusRule divvy-system/divvy-alerts"), std::string::npos);
}

// A kubeconfig of a cluster that is gone lies around on many machines: only who asks is told.
TEST(Doctor, UnreachableCluster_FaultOnlyWithClusterOption) {
  MadeTree made;
  {
    const FakeCluster cluster(healthyCluster());
    made.file("/kubeconfig", std::string());
    std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(cluster.kubeconfig().c_str(), "r"), fclose);
    std::array<char, 4096> text{};
    const std::size_t size = fread(text.data(), 1, text.size(), file.get());
    made.file("/kubeconfig", std::string(text.data(), size));
  }
  Sandbox sandbox;
  const std::string config = made.real("/kubeconfig");
  const Outcome asked =
      sandbox.divvy({"doctor", "--cluster", "--kubeconfig", config, "-o", "json"});
  EXPECT_EQ(asked.code(), 3) << asked.err;
  EXPECT_EQ(stateOf(parsed(asked), "api-server"), "fault");
  sandbox.set("KUBECONFIG", config);
  const Outcome unasked =
      sandbox.divvy({"doctor", "-o", "json", "--only", "api-server,host-preload"});
  EXPECT_EQ(unasked.code(), 0) << unasked.out;
  EXPECT_EQ(stateOf(parsed(unasked), "api-server"), "skipped");
}

std::string unpacked(const std::string& path) {
  const std::string command = "tar -xzOf " + path + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t got = 0; (got = fread(part.data(), 1, part.size(), pipe.get())) > 0;)
    text.append(part.data(), got);
  return text;
}

TEST(Doctor, Bundle_HoldsNoSecretsAndRedactsNames) {
  const FakeCluster cluster(healthyCluster());
  Sandbox sandbox;
  const Child tenant = sandbox.run("4Gi", {"sh", "-c", "sleep 60 # CANARY-command-line"});
  ASSERT_TRUE(sandbox.tenantCount(1));
  MadeTree made;
  const std::string plain = made.real("/plain.tar.gz"), names = made.real("/names.tar.gz");
  Words words{"doctor", "--kubeconfig", cluster.kubeconfig(), "--bundle", plain};
  const Outcome first = sandbox.divvy(words);
  EXPECT_TRUE(first.code() == 0 || first.code() == 3) << first.err;
  const std::string all = unpacked(plain);
  for (const char* wanted : {"\"left_out\"", "team-secret", "gpu-node-7", "GPU-1", "trainer waits",
                             "holderIdentity", "\"memory\"", "v1.34.4", "\"findings\""})
    EXPECT_NE(all.find(wanted), std::string::npos) << wanted << "\n" << all;
  EXPECT_EQ(all.find("CANARY"), std::string::npos) << all.substr(all.find("CANARY") - 200, 400);
  struct stat info {};
  ASSERT_EQ(stat(plain.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  words.back() = names;
  words.push_back("--redact-names");
  sandbox.divvy(words);
  const std::string without = unpacked(names);
  for (const char* name : {"team-secret", "trainer", "gpu-node-7", "CANARY"})
    EXPECT_EQ(without.find(name), std::string::npos) << name << "\n" << without;
  for (const char* number : {"namespace-1", "pod-1", "node-1", "\"names_redacted\":true"})
    EXPECT_NE(without.find(number), std::string::npos) << number;
  const Outcome again = sandbox.divvy(words);
  EXPECT_EQ(again.code(), 2) << again.err;
  EXPECT_EQ(again.out, "") << "it was examined although nothing could be written";
  words.push_back("--force");
  EXPECT_NE(sandbox.divvy(words).code(), 2);
}

TEST(Doctor, WrongUsage_OneLineWithAccepted) {
  Sandbox sandbox;
  const struct {
    Words words;
    const char* says;
  } cases[] = {{{"doctor", "--only", "clocks"}, "divvy doctor --list"},
               {{"doctor", "--node", "--cluster"}, "one of them"},
               {{"doctor", "--runtime-dir", "run"}, "absolute path"},
               {{"doctor", "--force"}, "--bundle"},
               {{"doctor", "--list", "--bundle", "/tmp/x"}, "--list or --bundle"},
               {{"doctor", "-o", "yaml"}, "table, json"},
               {{"doctor", "--root", "/no/such/folder"}, "--root"}};
  for (const auto& one : cases) {
    const Outcome outcome = sandbox.divvy(one.words);
    EXPECT_EQ(outcome.code(), 2) << one.says;
    EXPECT_NE(outcome.err.find(one.says), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  const Outcome list = sandbox.divvy({"doctor", "--list", "-o", "json"});
  EXPECT_GT(json::parse(list.out).as_array().size(), 30u);
}

}  // namespace
}  // namespace divvy::test
