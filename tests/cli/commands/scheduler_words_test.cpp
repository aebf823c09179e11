// What `divvy scheduler`, `divvy plan`, `divvy explain` and `divvy queues` are told of a cluster:
// bad values get one line that says what is accepted, and every option is in the help.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "sandbox.h"

namespace divvy::test {
namespace {

struct Case {
  Words words;
  std::string says;
};

void expectOneLine(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_EQ(outcome.code(), code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(outcome.err.find("divvy: "), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "\nshould say: " << part;
}

Words scheduler(const Words& more) {
  Words words{"scheduler"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(SchedulerOptions, BadValues_OneLineExitTwoAndNoFiles) {
  Sandbox sandbox;
  const std::vector<Case> cases{
      {scheduler({"--listen", "9396"}), "--listen \"9396\" is not accepted; HOST:PORT is"},
      {scheduler({"--listen", "[::1]:http"}), "--listen \"[::1]:http\" is not accepted"},
      {scheduler({"--webhook-listen", ":9443"}), "--webhook-listen \":9443\" is not accepted"},
      {scheduler({"--metrics-listen", "a:70000"}), "--metrics-listen \"a:70000\" is not accepted"},
      {scheduler({"--cert-file", "tls.crt"}), "--cert-file and --key-file require each other"},
      {scheduler({"--key-file", "tls.key"}), "--cert-file and --key-file require each other"},
      {scheduler({"--cert-secret", "webhook"}), "NAMESPACE/NAME is"},
      {scheduler({"--cert-secret", "a/b", "--cert-file", "c", "--key-file", "k"}),
       "exclude each other"},
      {{"cordon", "/3"}, "NODE, NODE/INDEX and NODE/UUID are"},
      {{"drain", "n/"}, "NODE, NODE/INDEX and NODE/UUID are"},
      {{"drain", "n", "--timeout", "soon"}, "--timeout: "},
      {{"gpus", "--node", "n"}, "require --cluster; accepted: with --cluster"},
      {{"ls", "-n", "team"}, "require --cluster; accepted: with --cluster"},
      {{"gpus", "--vendors", "nvidia"}, "require --cluster; accepted: with --cluster"},
      {{"ls", "--cluster", "--sim", "h100"}, "--sim selects an agent"},
      {scheduler({"--cert-life", "1h"}), "require --cert-secret"},
      {scheduler({"--cert-names", "a,b"}), "require --cert-secret"},
      {scheduler({"--webhook-config", "w"}), "require --cert-secret"},
      {scheduler({"--cert-secret", "a/b", "--cert-life", "9s"}), "accepted: 10s or more"},
      {scheduler({"--cert-secret", "a/b", "--cert-life", "long"}), "--cert-life: "},
      {scheduler({"--min-runtime", "soon"}), "--min-runtime: "},
      {scheduler({"--idle-notice", "later"}), "--idle-notice: "},
      {scheduler({"--inventory-learning", "0s"}), "at most a year; or off"},
      {scheduler({"--most-different-shares", "257"}), "--most-different-shares"},
      {scheduler({"--most-different-shares", "-1"}), "--most-different-shares"},
      {scheduler({"--bypass-notice", "later"}), "--bypass-notice: "},
      {scheduler({"--idle-extension", "-1"}), "--idle-extension: "},
      {scheduler({"--idle-ca", "ca.pem"}), "--idle-ca requires --idle-url"},
      {scheduler({"--idle-url", "platform"}), "--idle-url"},
      {scheduler({"--hami-label", "yes"}), "auto, always and never are"},
      {scheduler({"--locks", "always"}), "--locks \"always\" is not accepted; auto and never are"},
      {scheduler({"--handshakes", "always"}), "auto and never are"},
      {scheduler({"--lease", "divvy"}), "--lease \"divvy\" is not accepted; NAMESPACE/NAME and"},
      {scheduler({"--lease", "a/b/c"}), "NAMESPACE/NAME and none are"},
      {scheduler({"--compat", "volcano"}), "none and hami are"},
      {scheduler({"--print", "all"}),
       "config, webhook, fencing, policies, queues, kueue and options are"},
      {scheduler({"--writers", "me"}), "require --print policies"},
      {scheduler({"--print", "config", "--binders", "me"}), "require --print policies"},
      {scheduler({"--other-schedulers", "volcano"}), "require --print policies"},
      {scheduler({"--priority-class", "high"}), "--priority-class: "},
      {scheduler({"--priority-class", "inference=urgent"}), "--priority-class: "},
      {scheduler({"--priority-value", "much=high"}), "--priority-value: "},
      {scheduler({"--vendors", "acme", "--print", "config"}), "acme"},
      {scheduler({"now"}), "\"now\" is not accepted here; accepted: options only"},
      {{"plan"}, "no pods given; accepted: -f FILE"},
      {{"plan", "-f", "p.yaml", "--compat", "kube"}, "accepted: none, hami"},
      {{"plan", "-f", "p.yaml", "--min-runtime", "-1"}, "--min-runtime: "},
      {{"explain", "-f", "p.yaml", "--min-runtime", "x"}, "--min-runtime: "},
      {{"explain", "pod", "a/b/c"}, "pod NAME, pod NAMESPACE/NAME, -f FILE and reason CODE are"},
      {{"explain", "pod", "a/b", "-n", "c"}, "accepted: one of them"},
      {{"explain", "pod", "a", "--memory", "1Gi"}, "accepted: a pod or such options"},
  };
  for (const Case& one : cases) {
    expectOneLine(sandbox.divvy(one.words), 2, one.says);
    EXPECT_EQ(sandbox.files(), Words()) << one.says;
  }
}

// Of a cluster that nobody has to reach: what files say comes first.
TEST(SchedulerOptions, MissingOrWrongFiles_NamedInOneLine) {
  Sandbox sandbox;
  const std::string kubeconfig = sandbox.root() + "-kubeconfig";
  const std::string wrong = sandbox.root() + "-wrong.yaml";
  const std::string pods = sandbox.root() + "-pods.yaml";
  std::ofstream(kubeconfig) << R"(apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
)";
  std::ofstream(wrong) << "{]";
  std::ofstream(pods) << "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}";
  const std::string missing = sandbox.root() + "-missing";
  for (const char* command : {"scheduler", "plan"}) {
    Words words{command, "--kubeconfig", kubeconfig};
    if (std::string(command) == "plan") words.insert(words.end(), {"-f", pods});
    const auto with = [&](const Words& more) {
      Words all = words;
      all.insert(all.end(), more.begin(), more.end());
      return sandbox.divvy(all);
    };
    expectOneLine(with({"--device-config", missing}), 1, "--device-config: ");
    expectOneLine(with({"--device-config", wrong}), 2, "--device-config: " + wrong + ":1");
    expectOneLine(with({"--model-resources", missing}), 1, "reading " + missing);
    expectOneLine(with({"--model-resources", wrong}), 2, wrong + ":1");
    expectOneLine(with({"--pools", missing}), 1, "reading " + missing);
    expectOneLine(with({"--pools", wrong}), 2, wrong + ":1");
    expectOneLine(with({"--node-policy", "best"}), 2, "--node-policy: ");
    expectOneLine(with({"--device-policy", "best"}), 2, "--device-policy: ");
    expectOneLine(with({"--vendors", "acme"}), 2, "acme");
    expectOneLine(with({"--context", "y"}), 2, "\"y\"");
  }
  expectOneLine(sandbox.divvy({"scheduler", "--kubeconfig", kubeconfig, "--idle-url", "http://p",
                               "--idle-ca", missing}),
                1, "--idle-ca: reading " + missing);
  for (const char* command : {"plan", "explain"}) {
    expectOneLine(sandbox.divvy({command, "-f", missing}), 1, "reading " + missing);
    expectOneLine(sandbox.divvy({command, "-f", wrong}), 2, wrong + ":1");
  }
  EXPECT_EQ(sandbox.files(), Words());
  for (const std::string& file : {kubeconfig, wrong, pods}) std::remove(file.c_str());
}

const Words kOfScheduler{"--kubeconfig FILE",
                         "--context NAME",
                         "--scheduler-name NAME",
                         "--vendors NAME,...",
                         "--device-config FILE",
                         "--listen HOST:PORT",
                         "--webhook-listen HOST:PORT",
                         "--cert-file FILE",
                         "--key-file FILE",
                         "--cert-secret NAMESPACE/NAME",
                         "--webhook-config NAME",
                         "--cert-names NAME,...",
                         "--cert-life TIME",
                         "--node-policy NAME",
                         "--device-policy WORDS",
                         "--pools FILE",
                         "--model-resources FILE",
                         "--priority-class NAME=PRIORITY,...",
                         "--priority-value VALUE=PRIORITY,...",
                         "--compat none|hami",
                         "--min-runtime TIME",
                         "--most-different-shares N",
                         "--inventory-learning TIME|off",
                         "--idle-notice TIME",
                         "--idle-url URL",
                         "--idle-ca FILE",
                         "--idle-extension TIME",
                         "--bypass-notice TIME",
                         "--all-feasible",
                         "--print config|webhook|fencing|policies|queues|kueue|options",
                         "--writers USER,...",
                         "--binders USER,...",
                         "--other-schedulers NAME,...",
                         "--metrics-listen HOST:PORT",
                         "--compat-metrics",
                         "--deprecated-names on|off",
                         "--hami-label auto|always|never",
                         "--locks auto|never",
                         "--handshakes auto|never",
                         "--lease NAMESPACE/NAME",
                         "--identity NAME",
                         "--ports-file FILE"};

TEST(SchedulerOptions, Help_ListsEveryOption) {
  Sandbox sandbox;
  const std::vector<std::pair<Words, Words>> options{
      {{"scheduler"}, kOfScheduler},
      {{"plan"},
       {"-f,--filename FILE", "-n,--namespace NAME", "--kubeconfig FILE", "--context NAME",
        "--vendors NAME,...", "--device-config FILE", "--model-resources FILE",
        "--node-policy NAME", "--pools FILE", "--compat none|hami", "--device-policy WORDS",
        "--min-runtime TIME"}},
      {{"explain"}, {"--device-config FILE", "--model-resources FILE", "--min-runtime TIME"}},
      {{"queues"}, {"--kubeconfig FILE", "--context NAME"}},
      {{"cordon"}, {"NODE/UUID", "--kubeconfig FILE", "--context NAME"}},
      {{"drain"}, {"NODE/UUID", "--dry-run", "--force", "--timeout TIME", "--context NAME"}},
      {{"gpus"}, {"--cluster", "--node NAME", "--kubeconfig FILE", "--context NAME"}},
      {{"ls"}, {"--cluster", "--node NAME", "-n,--namespace NAME", "--kubeconfig FILE"}},
  };
  for (const auto& [command, names] : options) {
    Words words = command;
    words.push_back("--help");
    const Outcome help = sandbox.divvy(words);
    EXPECT_EQ(help.code(), 0) << help.err;
    for (const std::string& name : names)
      EXPECT_NE(help.out.find(name), std::string::npos) << command[0] << ": " << name;
    // And none that this list lacks.
    if (command[0] != "scheduler") continue;
    for (std::size_t at = help.out.find("\n  --"); at != std::string::npos;
         at = help.out.find("\n  --", at + 1)) {
      const std::string name = help.out.substr(at + 3, help.out.find(' ', at + 3) - at - 3);
      const bool listed = std::any_of(names.begin(), names.end(), [&](const std::string& one) {
        return one.substr(0, one.find(' ')) == name;
      });
      EXPECT_TRUE(listed) << name;
    }
  }
}

}  // namespace
}  // namespace divvy::test
