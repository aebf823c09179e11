// `kubectl divvy`: the program as kubectl runs it, and kubectl's options, before an API server that
// keeps what it was asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>

#include "heard_server.h"
#include "kube/registration.h"
#include "one_card.h"
#include "sandbox.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;

std::string list(const std::string& items) {
  return R"({"metadata":{"resourceVersion":"7"},"items":[)" + items + "]}";
}

// One that waits for a device.
std::string pod(const std::string& namespace_name, const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":")" + namespace_name +
         R"(","uid":")" + namespace_name + name +
         R"("},"spec":{"schedulerName":"divvy-scheduler","containers":[{"name":"main",)"
         R"("resources":{"limits":{"nvidia.com/gpu":"1"}}}]},"status":{"phase":"Pending"}})";
}

std::map<std::string, std::string> objects() {
  const std::string node = boost::json::serialize(boost::json::value{
      {"metadata",
       {{"name", "gpu-7"},
        {"uid", "n"},
        {"annotations", {{"hami.io/node-nvidia-register", kube::encode({oneCard()})}}}}}});
  return {{"/api/v1/nodes", list(node)},
          {"/api/v1/nodes/gpu-7", node},
          {"/api/v1/pods", list(pod("team-a", "one") + "," + pod("team-b", "two"))},
          {"/api/v1/namespaces/team-a/pods/one", pod("team-a", "one")},
          {"/api/v1/resourcequotas", list("")},
          {"/api/v1/namespaces", list("")},
          {"/apis/policy/v1/poddisruptionbudgets", list("")},
          {"/apis/divvy.dev/v1alpha1/queues", list("")}};
}

// A kubeconfig with two contexts whose clusters and users are each others', and programs that read
// it.
class Kubectl : public ::testing::Test {
 protected:
  Kubectl() : first(objects()), second(objects()) {
    std::string form = fs::temp_directory_path() / "divvy-kubectl-XXXXXX";
    folder = mkdtemp(form.data());
    std::ofstream(folder / "config")
        << "current-context: c\ncontexts:\n"
           "- {name: c, context: {cluster: first, user: u, namespace: team-a}}\n"
           "- {name: other, context: {cluster: second, user: v}}\n"
           "clusters:\n- {name: first, cluster: {server: '"
        << first.url() << "'}}\n- {name: second, cluster: {server: '" << second.url()
        << "'}}\nusers:\n- {name: u, user: {token: of-u}}\n- {name: v, user: {token: of-v}}\n";
    environment = {{"HOME", folder}, {"KUBECONFIG", folder / "config"}};
  }
  ~Kubectl() override { fs::remove_all(folder); }

  Outcome run(const std::string& program, const Words& words) const {
    Words all{buildDir() + "/bin/" + program};
    all.insert(all.end(), words.begin(), words.end());
    return Child(all, environment).wait();
  }
  Outcome kubectl(const Words& words) const { return run("kubectl-divvy", words); }

  HeardServer first, second;
  fs::path folder;
  std::map<std::string, std::string> environment;
};

// "BEARER as USER (GROUPS)" of all that was asked; what differs is said twice.
std::string askedAs(HeardServer& server) {
  std::string all;
  for (const Heard& one : server.take()) {
    std::string text = one.text("authorization");
    if (!one.text("impersonate-user").empty()) text += " as " + one.text("impersonate-user");
    if (!one.text("impersonate-uid").empty()) text += " uid " + one.text("impersonate-uid");
    if (!one.text("impersonate-group").empty()) text += " (" + one.text("impersonate-group") + ")";
    if (text != all) all += (all.empty() ? "" : " and ") + text;
  }
  return all;
}

struct Case {
  Words words;
  std::string first, second;  // who asked the servers
};

TEST_F(Kubectl, ConnectionOptions_ChooseServerAndUser) {
  std::ofstream(folder / "spare") << "current-context: spare\ncontexts: [{name: spare, context: "
                                     "{cluster: second, user: w}}]\nusers: [{name: w, user: "
                                     "{token: of-w}}]\n";
  const std::string spare = folder / "spare";
  const std::vector<Case> cases{
      {{}, "Bearer of-u", ""},
      {{"--context", "other"}, "", "Bearer of-v"},
      {{"--context=other"}, "", "Bearer of-v"},
      {{"--cluster", "second"}, "", "Bearer of-u"},
      {{"--user", "v"}, "Bearer of-v", ""},
      {{"--cluster=second", "--user=v"}, "", "Bearer of-v"},
      {{"-s", second.url()}, "", "Bearer of-u"},
      {{"-s=" + second.url()}, "", "Bearer of-u"},
      {{"--server", second.url(), "--token", "t"}, "", "Bearer t"},
      {{"--token", "t"}, "Bearer t", ""},
      {{"--as", "jane"}, "Bearer of-u as jane", ""},
      {{"--as", "jane", "--as-uid", "7", "--as-group", "a", "--as-group", "b"},
       "Bearer of-u as jane uid 7 (a,b)",
       ""},
      {{"--kubeconfig", spare, "-s", second.url()}, "", ""},
      {{"--request-timeout", "20s", "--insecure-skip-tls-verify", "--tls-server-name", "x"},
       "Bearer of-u",
       ""},
      {{"--request-timeout", "0"}, "Bearer of-u", ""},
      // As with kubectl the last one counts.
      {{"--context", "no-such", "--context", "other"}, "", "Bearer of-v"},
      {{"-n", "x", "-n=team-b"}, "Bearer of-u", ""},
  };
  for (const Case& one : cases) {
    std::string said;
    for (const std::string& word : one.words) said += word + ' ';
    // Before the command as behind it.
    for (const bool before : {true, false}) {
      Words words = one.words;
      words.insert(before ? words.end() : words.begin(), "gpus");
      const Outcome outcome = kubectl(words);
      const bool reaches = !one.first.empty() || !one.second.empty();
      EXPECT_EQ(outcome.code(), reaches ? 0 : 2) << said << outcome.err;
      EXPECT_EQ(outcome.out.find("gpu-7") != std::string::npos, reaches) << said << outcome.out;
      EXPECT_EQ(askedAs(first), one.first) << said;
      EXPECT_EQ(askedAs(second), one.second) << said;
    }
  }
  // The cluster is in the second file, and everything else as the first has it.
  environment["KUBECONFIG"] =
      spare + ":" + (folder / "missing").string() + ":" + environment["KUBECONFIG"];
  EXPECT_EQ(kubectl({"gpus"}).code(), 0);
  EXPECT_EQ(askedAs(first), "");
  EXPECT_EQ(askedAs(second), "Bearer of-w");
}

// Each command that speaks to a cluster, as what it is said to.
TEST_F(Kubectl, EveryClusterCommand_TakesConnectionOptions) {
  std::ofstream(folder / "pod.yaml") << R"({"kind":"Pod",)" + pod("team-a", "one").substr(1);
  const std::string file = folder / "pod.yaml";
  const std::vector<Words> commands{{"gpus"},
                                    {"ls"},
                                    {"snapshot"},
                                    {"queues"},
                                    {"explain", "pod", "one", "-n", "team-a"},
                                    {"explain", "pod/team-a/one"},
                                    {"explain", "-f", file},
                                    {"plan", "-f", file},
                                    {"cordon", "gpu-7/0"},
                                    {"uncordon", "gpu-7/0"},
                                    {"drain", "gpu-7/0", "--dry-run"},
                                    {"resize", "pod/team-a/one", "--memory", "1Gi"},
                                    {"doctor", "--only", "api-server"}};
  const Words options{"--context",  "other", "--token",           "t",  "--as", "jane",
                      "--as-group", "g",     "--request-timeout", "20s"};
  for (const char* program : {"kubectl-divvy", "divvy"})
    for (Words words : commands) {
      const std::string name = std::string(program) + " " + words[0];
      words.insert(words.end(), options.begin(), options.end());
      const Outcome outcome = run(program, words);
      EXPECT_NE(outcome.code(), 2) << name << ": " << outcome.err;
      EXPECT_EQ(askedAs(second), "Bearer t as jane (g)") << name << ": " << outcome.err;
      EXPECT_EQ(askedAs(first), "") << name;
    }
}

// As if its webhooks had made that of any pod.
std::map<std::string, std::string> objectsMaking(const std::string& scheduler,
                                                 const std::string& model) {
  std::map<std::string, std::string> all = objects();
  boost::json::value nodes = boost::json::parse(all["/api/v1/nodes"]);
  nodes.at("items").at(0).as_object()["status"] = {
      {"allocatable", {{"pods", "9"}, {"nvidia.com/gpu", "9"}}}};
  all["/api/v1/nodes"] = boost::json::serialize(nodes);
  boost::json::value made = boost::json::parse(pod("team-a", "made"));
  made.at("spec").as_object()["schedulerName"] = scheduler;
  if (!model.empty())
    made.at("metadata").as_object()["annotations"] = {{"use.divvy.dev/model", model}};
  all["/api/v1/namespaces/team-a/pods"] = boost::json::serialize(made);
  return all;
}

void writeDeployment(const fs::path& file, const char* replicas) {
  std::ofstream(file)
      << "\xEF\xBB\xBFx-spec: &spec\r\n  containers: [{name: c}]\r\nkind: Deployment\r\n"
         "metadata: {name: web}\r\nspec: {replicas: "
      << replicas << ", template: {spec: {<<: *spec}}}\r\n";
}

// Regression: "there is no pod, and nothing that makes pods", and nothing of the scheduler.
TEST_F(Kubectl, ExplainScaledToZero_IdleAndSchedulerNamed) {
  HeardServer server(objectsMaking("volcano", ""));
  const std::string file = folder / "web.yaml";
  writeDeployment(file, "0");
  const Words words{"explain", "-f", file, "-s", server.url()};
  const Outcome idle = kubectl(words);
  EXPECT_EQ(idle.code(), 0) << idle.err;
  for (const char* line :
       {"team-a/web fits now, on gpu-7\n",
        "its scheduler is volcano, Divvy's is divvy-scheduler: unless both are the same",
        "requests no pods now: Deployment web: replicas is 0\n"})
    EXPECT_NE(idle.out.find(line), std::string::npos) << line << '\n' << idle.out;
  const Outcome plan = kubectl({"plan", "-f", file, "-s", server.url()});
  EXPECT_EQ(plan.code(), 0) << plan.err;
  EXPECT_NE(plan.out.find("requests no pods now: Deployment web: replicas is 0"), std::string::npos)
      << plan.out;
  writeDeployment(file, "1");
  EXPECT_EQ(kubectl(words).out.find("requests no pods now"), std::string::npos);
}

// Regression: of the model that was asked for nothing was said.
TEST_F(Kubectl, ExplainOfModelRequest_ModelNamed) {
  HeardServer server(objectsMaking("divvy-scheduler", "H200"));
  const std::string file = folder / "web.yaml";
  writeDeployment(file, "1");
  const Outcome refused = kubectl({"explain", "-f", file, "-s", server.url()});
  EXPECT_EQ(refused.code(), 3) << refused.err;
  EXPECT_NE(refused.out.find("selects models by use.divvy.dev/model: H200\n"), std::string::npos)
      << refused.out;
  EXPECT_EQ(refused.out.find("its scheduler is"), std::string::npos) << refused.out;
}

TEST_F(Kubectl, NamespaceOptions_ListAsKubectl) {
  struct Seen {
    const char* program;
    Words words;
    std::string listed;
  };
  const std::vector<Seen> cases{
      {"kubectl-divvy", {"ls"}, "one"},
      {"kubectl-divvy", {"ls", "-n", "team-b"}, "two"},
      {"kubectl-divvy", {"ls", "--namespace=team-b"}, "two"},
      {"kubectl-divvy", {"-n", "team-b", "ls"}, "two"},
      {"kubectl-divvy", {"ls", "-n=team-b"}, "two"},
      {"kubectl-divvy", {"ls", "-A"}, "one two"},
      {"kubectl-divvy", {"-A", "ls"}, "one two"},
      {"kubectl-divvy", {"ls", "--all-namespaces", "-n", "team-b"}, "one two"},
      {"kubectl-divvy", {"ls", "--context", "other"}, ""},  // whose namespace is default
      {"kubectl-divvy", {"gpus", "-A", "-n", "team-b"}, "gpu-7"},
      {"divvy", {"ls", "--cluster"}, "one two"},
      {"divvy", {"ls", "--cluster", "-A"}, "one two"},
      {"divvy", {"ls", "--cluster", "-n", "team-b"}, "two"},
  };
  for (const Seen& one : cases) {
    Words words = one.words;
    words.push_back("--no-headers");
    const Outcome outcome = run(one.program, words);
    std::string said = one.program;
    for (const std::string& word : words) said += ' ' + word;
    EXPECT_EQ(outcome.code(), 0) << said << outcome.err;
    std::string listed;
    for (const char* name : {"one", "two", "gpu-7"})
      if (outcome.out.find(name) != std::string::npos)
        listed += (listed.empty() ? "" : " ") + std::string(name);
    EXPECT_EQ(listed, one.listed) << said << outcome.out;
    EXPECT_EQ(
        outcome.err.find("no pod with devices in namespace default; use -A") != std::string::npos,
        one.listed.empty())
        << said << outcome.err;
  }
}

// Nobody answers: without the option it would be waited for for half a minute.
TEST_F(Kubectl, RequestTimeout_EndsWaitForAnswer) {
  HeardServer silent({}, true);
  const Outcome outcome = kubectl({"queues", "-s", silent.url(), "--request-timeout", "300ms"});
  EXPECT_EQ(outcome.code(), 1);
  EXPECT_NE(outcome.err.find("no answer in time"), std::string::npos) << outcome.err;
}

TEST_F(Kubectl, RejectedOptions_NamedWithAcceptedAndNotSent) {
  struct Refused {
    const char* program;
    Words words;
    std::string says;
  };
  const std::string most = "; accepted: --kubeconfig";
  const std::vector<Refused> cases{
      {"kubectl-divvy",
       {"gpus", "--cache-dir", "x"},
       "--cache-dir is an option of kubectl that this command"},
      {"kubectl-divvy",
       {"gpus", "-v", "9"},
       "-v is an option of kubectl that this command does not support; accepted: "},
      {"kubectl-divvy", {"ls", "--watch"}, "--watch is not accepted here; accepted: "},
      {"kubectl-divvy", {"ls", "--watch"}, "-A,--all-namespaces"},
      {"kubectl-divvy", {"ls", "--watch"}, "see kubectl divvy ls --help"},
      {"kubectl-divvy", {"plan", "-A", "-f", "x"}, "-A is not accepted here; accepted: "},
      {"kubectl-divvy", {"gpus", "--cluster"}, "--cluster"},
      {"kubectl-divvy", {"gpus", "--as-group", "g"}, "--as-group and --as-uid require --as"},
      {"kubectl-divvy", {"gpus", "--request-timeout", "soon"}, "--request-timeout: time \"soon\""},
      {"kubectl-divvy", {"--context", "other"}, "required"},
      {"kubectl-divvy", {"--context", "other", "fly"}, "\"fly\" is not a command"},
      {"divvy", {"cordon", "gpu-7", "--cluster", "first"}, "--cluster is not accepted here"},
      {"divvy", {"cordon", "gpu-7", "--cache-dir", "x"}, "--cache-dir is not accepted here"},
      {"divvy", {"ls", "-A"}, "accepted: with --cluster"},
      {"divvy", {"resize", "web", "--memory", "1Gi", "--as", "jane"}, "accepted: with pod/NAME"},
  };
  for (const Refused& one : cases) {
    const Outcome outcome = run(one.program, one.words);
    EXPECT_EQ(outcome.code(), 2) << one.says << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(one.says), std::string::npos) << outcome.err << one.says;
  }
  EXPECT_EQ(askedAs(first) + askedAs(second), "");
}

TEST_F(Kubectl, Help_NamesCalledProgramAndOptions) {
  const std::string plugin = kubectl({"gpus", "--help"}).out;
  const std::string own = run("divvy", {"gpus", "--help"}).out;
  EXPECT_NE(plugin.find("Usage: kubectl divvy gpus"), std::string::npos) << plugin;
  EXPECT_NE(own.find("Usage: divvy gpus"), std::string::npos) << own;
  EXPECT_NE(plugin.find("--cluster NAME"), std::string::npos) << plugin;
  EXPECT_EQ(own.find("--cluster NAME"), std::string::npos) << own;
  for (const char* option :
       {"--kubeconfig FILE", "--context NAME", "--user NAME", "-s,--server URL", "--token TOKEN",
        "--as USER", "--as-group GROUP", "--as-uid UID", "--request-timeout TIME",
        "--certificate-authority FILE", "--insecure-skip-tls-verify", "--tls-server-name NAME",
        "--client-certificate FILE", "--client-key FILE"})
    for (const std::string& text : {plugin, own})
      EXPECT_NE(text.find(option), std::string::npos) << option << text;
  EXPECT_NE(run("divvy", {"top", "--help"}).out.find("-n COUNT"), std::string::npos);
  // Scripts complete the words of divvy, whoever prints them.
  EXPECT_EQ(kubectl({"completion", "bash"}).out, run("divvy", {"completion", "bash"}).out);
}

// As kubectl asks for it: the last word is what has been typed.
TEST_F(Kubectl, CompletionRequests_OptionsAndDirective) {
  const auto offered = [&](const Words& words) {
    const Outcome outcome = run("kubectl_complete-divvy", words);
    EXPECT_EQ(outcome.code(), 0) << outcome.err;
    std::string all;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      all += (all.empty() ? "" : " ") + line.substr(0, line.find('\t'));
    return all;
  };
  EXPECT_EQ(offered({"cor"}), "cordon :4");
  EXPECT_EQ(offered({"gpus", "--as"}), "--as --as-uid --as-group :4");
  EXPECT_EQ(offered({"--context", "other", "gpus", "--kubec"}), "--kubeconfig :4");
  EXPECT_EQ(offered({"ls", "-o", ""}), "table wide json :4");
  EXPECT_EQ(offered({"ls", "--output", "j"}), "json :4");
  EXPECT_EQ(offered({"ls", "--kubeconfig", ""}), ":0");
  EXPECT_EQ(offered({"ls", "--all"}), "--all-namespaces :4");
  EXPECT_EQ(offered({"plan", "--all"}), ":4");
  EXPECT_EQ(offered({"no-such", "--as"}), ":4");
  EXPECT_NE(offered({""}).find("gpus"), std::string::npos);
}

}  // namespace
}  // namespace divvy::test
