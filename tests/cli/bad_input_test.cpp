// What bad input gets: one line that says what was wrong and what is accepted, 2 or 1, nothing
// left.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;

void expectOneLine(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_EQ(outcome.code(), code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(outcome.err.find("divvy: "), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << "\nshould say: " << part;
}

struct Case {
  Words words;
  std::string says;
};

Words simRun(const Words& options) {
  Words words{"run", "--sim", "h100"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "true"});
  return words;
}

// Found by the command line itself: no agent is started.
TEST(CommandLine, UsageErrors_OneLineExitTwoAndNoFiles) {
  Sandbox sandbox;
  const std::vector<Case> cases{
      {{}, "required"},
      {{"fly"}, "\"fly\" is not a command; accepted: run explain ls"},
      {{"run"}, "no command"},
      {{"run", "--sim", "h100", "--"}, "no command"},
      {simRun({"--memory", "4Gb"}), "accepted: a positive number with Ki, Mi, Gi or Ti"},
      {simRun({"--memory", "0"}), "zero"},
      {simRun({"--memory", "8589934592"}),
       "memory \"8589934592\": is 8 PiB as a number of MiB, which is too much, and 8 GiB as bytes"},
      {simRun({"--model", " - "}),
       "--model: \" - \" has no letter or digit; accepted: whole words"},
      {simRun({"--model", "h100", "--model", "()"}), "--model: \"()\" has no letter or digit"},
      {{"explain", "--sim", "h100", "--model", "."}, "--model: \".\" has no letter or digit"},
      {simRun({"--memory", "-4Gi"}), "accepted"},
      {simRun({"--memory", "101%"}), "accepted: 1% to 100%"},
      {simRun({"--memory", "99999999Ti"}), "too large"},
      {simRun({"--cores", "0"}), "\"0\" is not accepted for 1 GPU; a whole number from 1 to 100"},
      {simRun({"--cores", "-30"}), "\"-30\" is not accepted for 1 GPU"},
      {simRun({"--cores", "101"}), "\"101\" is not accepted for 1 GPU"},
      {simRun({"--cores", "many"}), "\"many\" is not accepted for 1 GPU"},
      {simRun({"--cores", "12.5"}), "a whole number from 1 to 100"},
      {simRun({"--cores", ""}), "--cores has no value"},
      {simRun({"--cores", "201", "--gpus", "2"}), "for 2 GPUs; a whole number from 2 to 200"},
      {simRun({"--gpus", "8", "--cores", "7"}), "for 8 GPUs; a whole number from 8 to 800"},
      {simRun({"--cores", "30", "--cores-policy", "hard"}), "accepted: share, cap"},
      {simRun({"--cores-policy", "cap"}), "--cores-policy requires --cores"},
      {simRun({"--gpus", "0"}), "from 1 to 16"},
      {simRun({"--gpus", "-1"}), "from 1 to 16"},
      {simRun({"--priority", "urgent"}), "accepted: low, normal, high"},
      {simRun({"--wait", "soon"}), "accepted: a positive number with ms, s, m or h"},
      {simRun({"--context-overhead", "beside"}), "accepted: inside, outside"},
      {simRun({"--name", std::string(64, 'x')}), "63"},
      {simRun({"--name", "two words"}), "accepted: 1 to 63 letters"},
      {{"resize", "web", "--name", "a\nb"}, "accepted: 1 to 63 letters"},
      {simRun({"--colour", "red"}), "divvy run --help"},
      {{"run", "--sim", "h9000", "--", "true"}, "accepted: rtx4070"},
      {{"run", "--sim", "../../etc", "--", "true"}, "accepted: rtx4070"},
      {{"run", "--sim", "h100x17", "--", "true"}, "accepted"},
      {{"gpus", "-o", "wide"}, "accepted: table, json"},
      {{"ls", "extra"}, "extra"},
      {{"top", "-n", "0"}, "from 1"},
      {{"top", "--interval", "x"}, "accepted"},
      {{"top", "--interval", "1ms"}, "accepted: 100ms and more"},
      {simRun({"--enforce", "magic"}), "accepted: auto, interposer, mps, timeslice"},
      {simRun({"--priority", ""}), "--priority has no value"},
      {{"ls", "-o", "wider"}, "accepted: table, wide, json"},
      {{"resize", "web"},
       "accepted: --memory, --guaranteed, --on-pressure, --pressure-wait, --idle-reclaim"},
      {{"resize", "web", "--cores", "0"}, "a whole number from 1 to 100 for each GPU"},
      {{"resize", "web", "--cores", "-1"}, "a whole number from 1 to 100 for each GPU"},
      {{"resize", "web", "--cores", "1601"}, "a whole number from 1 to 100 for each GPU"},
      {{"resize", "web", "--cores-policy", "x"}, "accepted: share, cap"},
      {{"resize", "web", "--priority", "urgent"}, "accepted: low, normal, high"},
      {{"resize", "", "--cores", "10"}, "TENANT has no value"},
      {{"resize"}, "TENANT"},
      {{"resize", "web", "--memory", "0Gi"}, "zero"},
      {{"wait"}, "--all"},
      {{"wait", "web", "--all"}, "--all"},
      {{"wait", "web", "--timeout", "0"}, "accepted"},
      {{"completion", "tcsh"}, "accepted: bash, zsh, fish"},
      {{"agent", "--node", "cpu"}, "accepted: gpu, sim-<profile>"},
      {{"agent", "--node", "sim-h1000"},
       "simulated card \"h1000\" is not known; accepted: rtx4070"},
  };
  for (const Case& one : cases) {
    expectOneLine(sandbox.divvy(one.words), 2, one.says);
    EXPECT_EQ(sandbox.files(), Words()) << one.says;
  }
}

// What the grammar's library says of these named neither the value nor what is accepted.
TEST(CommandLine, RejectedWords_AcceptedOnesNamed) {
  Sandbox sandbox;
  const std::vector<Case> cases{
      {{"ls", "nobody"},
       "\"nobody\" is not accepted here; accepted: options only; see divvy ls --help"},
      {{"top", "web"}, "\"web\" is not accepted here; accepted: options only; see divvy top"},
      {{"events", "a", "b"}, "\"b\" is not accepted here; accepted: one TENANT, and options"},
      {{"top", "-n", "1", "-n", "2"}, "-n is given 2 times; accepted: once; see divvy top --help"},
      {{"top", "-n", "-1"}, "-n \"-1\" is not accepted; a whole number from 1"},
      {{"top", "-n"}, "-n has no value; accepted: COUNT; see divvy top --help"},
      {{"top", "--interval", "-1s"}, "--interval: time \"-1s\" is not understood; accepted"},
      {{"top", "--interval", "1s", "--interval", "2s"}, "--interval is given 2 times"},
      {{"ls", "-o"}, "--output has no value; accepted: table|wide|json; see divvy ls --help"},
      {{"ls", "-o", "json", "-o", "table"}, "--output is given 2 times; accepted: once"},
      {{"ls", "-o", "yaml"}, "--output \"yaml\" is not known; accepted: table, wide, json"},
      {{"ls", "--no-headers=maybe"}, "--no-headers takes no value; accepted: --no-headers alone"},
      {{"events", "-o", "wide"}, "--output \"wide\" is not known; accepted: table, json"},
      {{"explain", "pod", "a", "b"}, "\"pod a b\" is not accepted; pod NAME"},
      {{"explain", "--memory", "1Gi", "--memory", "2Gi"}, "--memory is given 2 times"},
      {{"explain", "--gpus", "-1"}, "--gpus \"-1\" is not accepted; a whole number from 1 to 16"},
      {{"explain", "reason", "memory", "--memory", "1Gi"}, "accepted: CODE or words, -o"},
      {{"clusters", "-s", "https://10.0.0.1"}, "name one cluster; accepted: --contexts, or none"},
      {{"clusters", "--context", "a", "--contexts", "b"}, "accepted: one of them"},
      {{"hub"}, "accepted: a kubeconfig with one context per cluster"},
      {{"hub", "--print", "all"}, "--print \"all\" is not accepted; kueue is"},
      {{"hub", "--print", "kueue", "--vendors", "nobody"}, "nobody"},
      {{"hub", "--clusters", "a", "--vendors", "nvidia"}, "--vendors needs --print"},
      {{"hub", "--clusters", "a", "--spill-after", "soon", "--dispatch"}, "--spill-after: "},
      {{"hub", "--clusters", "a", "--reserved", "x", "--on-demand", "x"}, "accepted: one of them"},
      {{"hub", "--clusters", "a", "--spill-after", "1m"}, "need --dispatch"},
      {{"hub", "--clusters", "a", "--kubeconfig", "b"}, "need --dispatch"},
      {{"hub", "--clusters", "a", "--listen", "nowhere"}, "--listen"},
      {{"clusters", "--divvy-namespace", "../a"}, "\"../a\" is not the name of an object"},
      {{"wait", "web", "--timeout", "-1"}, "--timeout: time \"-1\" is not understood"},
      {simRun({"--wait=-1"}), "--wait: time \"-1\" is not understood"},
      {{"share", "create", "a", "b"}, "\"b\" is not accepted here; accepted: one NAME"},
  };
  for (const Case& one : cases) {
    expectOneLine(sandbox.divvy(one.words), 2, one.says);
    EXPECT_EQ(sandbox.files(), Words()) << one.says;
  }
}

// Regression: they took whatever words came after their value, a run's command, too.
TEST(CommandLine, RepeatableOptions_TakeOneValueEach) {
  Sandbox sandbox;
  const std::string file = sandbox.root() + "/pod.yaml";
  std::ofstream(file) << "kind: Pod\napiVersion: v1\nmetadata: {name: x}\n";
  expectOneLine(sandbox.divvy({"explain", "-f", file, "pod", "b"}), 2, "explain: no pod given");
  expectOneLine(sandbox.divvy({"ls", "--cluster", "--as-group", "a", "b"}), 2, "\"b\" is not");
  fs::remove(file);
  const Outcome run = sandbox.divvy(
      {"run", "--sim", "h100", "--memory", "1Gi", "--model", "a100", "--model", "h100", "true"});
  EXPECT_EQ(run.code(), 0) << run.err;
}

TEST(CommandLine, BadResizeOfPod_UsageErrorWithAccepted) {
  Sandbox sandbox;
  const std::vector<Case> cases{
      {{"set", "web"}, "resize: nothing to change"},  // the name of the release before
      {{"resize", "pod/", "--cores", "10"}, "accepted: pod/NAME with -n NAMESPACE"},
      {{"resize", "pod/a/b/c", "--cores", "10"}, "accepted: pod/NAME with -n NAMESPACE"},
      {{"resize", "pod//b", "--cores", "10"}, "accepted: pod/NAME with -n NAMESPACE"},
      {{"resize", "pod/a/b", "-n", "c", "--cores", "10"}, "\"pod/a/b\" and -n c"},
      {{"resize", "pod/a/b"}, "nothing to change; accepted: --memory, --cores, --priority"},
      {{"resize", "pod/a/b", "--memory", "50%"}, "of a pod's container 1Mi and more is"},
      {{"resize", "pod/a/b", "--memory", "1000Ki"}, "of a pod's container 1Mi and more is"},
      {{"resize", "pod/a/b", "--memory", "8589934592"}, "8 GiB as bytes, which is written 8192Mi"},
      {{"resize", "pod/a/b", "--cores", "101"}, "100"},
      {{"resize", "pod/a/b", "--priority", "urgent"}, "accepted: low, normal, high"},
      {{"resize", "pod/a/b", "--cores", "10", "--name", "x"},
       "--name cannot be changed of a running pod"},
      {{"resize", "pod/a/b", "--cores", "10", "--timeout", "soon"}, "--timeout"},
      {{"resize", "web", "--cores", "10", "-c", "main"}, "with pod/NAME or pod/NAMESPACE/NAME"},
  };
  for (const Case& one : cases) expectOneLine(sandbox.divvy(one.words), 2, one.says);
}

TEST(CommandLine, BadDeviceResourceNames_UsageErrorWithAccepted) {
  Sandbox sandbox;
  const std::vector<Case> cases{
      {{"agent", "--node-name", "n", "--resource", "gpu"}, "DOMAIN/NAME is accepted"},
      {{"agent", "--node-name", "n", "--dialect", "volcano", "--resource", "none"},
       "DOMAIN/NAME is accepted"},
      {{"agent", "--node-name", "n", "--resource", "a.com/gpu,gpu"}, "\"gpu\" is not an extended"},
      {{"agent", "--node-name", "n", "--model-names", "yes"}, "accepted: on, off"},
      {{"agent", "--node-name", "n", "--model-names", "off", "--model-resources", "m.yaml"},
       "--model-resources requires model names"},
      {{"agent", "--model-names", "on"}, "require --node-name"},
      {{"agent", "--model-resources", "m.yaml"}, "require --node-name"},
  };
  for (const Case& one : cases) expectOneLine(sandbox.divvy(one.words), 2, one.says);
}

TEST(CommandLine, BadAgentAndSwapOptions_UsageErrorWithAccepted) {
  Sandbox sandbox;
  const std::vector<Case> cases{
      {{"agent", "--kubelet-dir", "/tmp"}, "require --node-name"},
      {{"agent", "--announce-numa"}, "require --node-name"},
      {{"agent", "--node-name", "n", "--kubelet-dir", "tmp"}, "an absolute path is accepted"},
      {{"agent", "--helper"}, "require --node-name"},
      {{"agent", "--node-name", "n", "--helper", "--checkpoint", "on"},
       "is not supported with --helper"},
      {{"agent-helper", "--kubelet-dir", "tmp"}, "an absolute path is accepted"},
      {{"agent-helper", "--cdi-dir", "tmp"}, "--cdi-dir"},
      {{"agent-helper", "--agent-user", "0"}, "--agent-user"},
      {{"agent-helper", "--agent-user", "nobody"}, "--agent-user"},
      {{"agent-helper", "--node", "h100"}, "gpu, sim-<profile>"},
      {{"agent-helper", "--node", "sim-h1000"}, "\"h1000\" is not known; accepted: rtx4070"},
      {{"agent", "--node-name", "n", "--per-device", "0"}, "--per-device"},
      {{"agent", "--node-name", "n", "--per-device", "101"}, "1 to 100"},
      {{"agent", "--metrics-listen", "9394"}, "HOST:PORT is"},
      {{"agent", "--compat-metrics"}, "accepted: with --metrics-listen"},
      {{"agent", "--deprecated-names", "yes"}, "--deprecated-names \"yes\""},
      {{"scheduler", "--deprecated-names", "yes"}, "accepted: on, off"},
      {{"agent", "--metrics-listen", "127.0.0.1:99999"}, "HOST:PORT is"},
      {{"agent", "--overcommit", "5"}, "--overcommit: overcommit \"5\" is not understood"},
      {{"agent", "--overcommit", "0.5"}, "accepted: 1.0 to 4.0"},
      {{"agent", "--overcommit", "1.3", "--overcommit", "1.4"}, "for all devices already"},
      {{"agent", "--overcommit", "=2"}, "names no device; accepted: DEV=VALUE"},
      {{"agent", "--device-budget", "0=much"}, "--device-budget: "},
      {{"agent", "--checkpoint", "maybe"}, "--checkpoint: "},
      {{"agent", "--host-reserve", "-1"}, "--host-reserve: "},
      {{"agent", "--swap-chunk", "3Mi"}, "a power of two from 64Ki to 256Mi"},
      {{"agent", "--swap-quantum", "1ms"}, "--swap-quantum: \"1ms\" is not accepted; auto, or"},
      {simRun({"--memory", "4Gi", "--guaranteed", "5Gi"}), "accepted: at most 4 GiB"},
      {simRun({"--memory", "40%", "--guaranteed", "50%"}), "accepted: at most 40%"},
      {simRun({"--guaranteed", "some"}), "--guaranteed: "},
      {simRun({"--on-pressure", "hope"}), "accepted: oom, wait"},
      {simRun({"--pressure-wait", "10s"}), "requires --on-pressure wait; accepted: both"},
      {simRun({"--on-pressure", "wait", "--pressure-wait", "25h"}), "--pressure-wait: "},
      {{"resize", "web", "--memory", "1Gi", "--guaranteed", "2Gi"}, "accepted: at most 1 GiB"},
      {{"resize", "web", "--on-pressure", "x"}, "accepted: oom, wait"},
      {{"resize", "web", "--idle-reclaim", "soon"}, "--idle-reclaim: time \"soon\""},
      {{"resize", "web", "--idle-stop", "-1"}, "or off"},
      {{"agent", "--idle-reclaim", "urgent=1h"}, "accepted: low, normal, high"},
      {{"agent", "--idle-reclaim", "low=1h,low=2h"}, "has two values for low"},
      {{"agent", "--idle-stop", "1h,low=2h"}, "has two values for low"},
      {{"agent", "--idle-stop", "low="}, "--idle-stop: time \"\""},
      {{"agent", "--idle-hook", "sh -c x"}, "accepted: absolute path of a program"},
      {{"agent", "--idle-notice", "off"}, "--idle-notice: time \"off\""},
      {{"agent", "--on-bypass", "kill"}, "accepted: report, throttle, evict"},
      {{"agent", "--bypass-notice", "off"}, "--bypass-notice: time \"off\""},
      {{"agent", "--node-name", "n", "--injection", "hooks"}, "accepted: auto, mounts, cdi"},
      {{"agent", "--node-name", "n", "--cdi-dir", "cdi"}, "an absolute path, or none"},
      {{"agent", "--node-name", "n", "--injection", "cdi", "--cdi-dir", "none"},
       "needs a --cdi-dir"},
      {{"agent", "--injection", "cdi"}, "require --node-name"},
      {{"agent", "--dialect", "volcano"}, "require --node-name"},
      {{"agent", "--node-name", "n", "--dialect", "kai"}, "accepted: hami, volcano"},
      {{"agent", "--node-name", "n", "--announce-memory", "gpumem"}, "DOMAIN/NAME, or none,"},
      {{"agent", "--metrics-labels", "team"}, "metrics are off"},
      {{"agent", "--node-name", "n", "--metrics-labels", "a b"}, "is not a label key"},
      {{"events", "a", "b"}, "\"b\" is not accepted here; accepted: one TENANT, and options"},
  };
  for (const Case& one : cases) {
    expectOneLine(sandbox.divvy(one.words), 2, one.says);
    EXPECT_EQ(sandbox.files(), Words()) << one.says;
  }
}

// An agent that is started for a command has only the environment to go by: the command says what
// is wrong with it, for the agent could only say so in its diary.
TEST(CommandLine, BadAgentVariables_RefusedBeforeAgentStarts) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"DIVVY_OVERCOMMIT", "lots"},   {"DIVVY_DEVICE_BUDGET", "0="}, {"DIVVY_HOST_RESERVE", "x"},
      {"DIVVY_SWAP_CHUNK", "512Mi"},  {"DIVVY_SWAP_QUANTUM", "2h"},  {"DIVVY_IDLE_RECLAIM", "x=1"},
      {"DIVVY_IDLE_HOOK", "nowhere"}, {"DIVVY_MEMORY_LIMIT", "lots"}};
  for (const auto& [name, value] : cases) {
    Sandbox sandbox;
    sandbox.set(name, value);
    expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 2, name + ": ");
  }
  Sandbox sandbox;
  sandbox.set("DIVVY_OVERCOMMIT", "7=1.5");
  expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 2,
                "no device is \"7\"; there are: 0 (GPU-");
  EXPECT_EQ(sandbox.files(), Words());
  sandbox.set("DIVVY_OVERCOMMIT", "");
  sandbox.set("DIVVY_DEVICE_BUDGET", "200Gi");
  expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 2, "device 0 has 79.1 GiB");
  sandbox.set("DIVVY_DEVICE_BUDGET", "");
  EXPECT_EQ(sandbox.divvy(simRun({"--memory", "1Gi"})).code(), 0);
}

// Found by the agent, which knows the cards.
TEST(CommandLine, RequestNoCardCanServe_UsageErrorWithReason) {
  Sandbox sandbox;
  const std::vector<Case> cases{
      {simRun({"--memory", "200Gi"}), "needs 200 GiB, the device has 79.1 GiB"},
      {simRun({"--memory", "100Mi"}), "less than one context costs here"},
      {simRun({"--uuid", "GPU-deadbeef"}), "its UUID is GPU-"},
      {simRun({"--model", "voodoo"}), "is another model; requested: voodoo"},
      {simRun({"--model", "显卡"}), "is another model"},
      {simRun({"--model", "H10"}), "is another model"},
      {simRun({"--gpus", "2", "--memory", "1Gi"}), "this machine has 1 device"},
  };
  for (const Case& one : cases) expectOneLine(sandbox.divvy(one.words), 2, one.says);
  EXPECT_TRUE(sandbox.snapshot().tenants.empty());
}

TEST(CommandLine, RuntimeDirectoryNotCreatable_ErrorNamesIt) {
  Sandbox sandbox;
  std::ofstream(sandbox.root() + "/file") << "x";
  for (const std::string& dir : {sandbox.root() + "/file/dir", std::string("/proc/divvy"),
                                 sandbox.root() + "/no/such/parent"}) {
    sandbox.set("DIVVY_RUNTIME_DIR", dir);
    expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 1, dir);
  }
  sandbox.set("DIVVY_RUNTIME_DIR", "relative/dir");
  expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 2, "an absolute path is accepted");
  sandbox.set("DIVVY_RUNTIME_DIR", "/tmp/" + std::string(100, 'x'));
  expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 2, "at most 60 characters");
  sandbox.set("DIVVY_RUNTIME_DIR", sandbox.root());
  fs::remove(sandbox.root() + "/file");
}

TEST(CommandLine, RuntimeDirectoryWritableByOthers_Refused) {
  Sandbox sandbox;
  const std::string open = sandbox.root() + "/open";
  fs::create_directory(open);
  chmod(open.c_str(), 0777);
  sandbox.set("DIVVY_RUNTIME_DIR", open);
  expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 1,
                "run chmod 700, or set DIVVY_RUNTIME_DIR");
  EXPECT_TRUE(fs::is_empty(open));
  fs::remove(open);
  fs::create_directory_symlink("/tmp", sandbox.root() + "/link");
  sandbox.set("DIVVY_RUNTIME_DIR", sandbox.root() + "/link");
  expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 1, "is not a directory");
  fs::remove(sandbox.root() + "/link");
  sandbox.set("DIVVY_RUNTIME_DIR", sandbox.root());
}

// A file system of its own for the runtime directory; needs the right to mount.
class Mounted {
 public:
  Mounted(const std::string& dir, const char* options, unsigned long flags) : dir_(dir) {
    fs::create_directory(dir);
    ok_ = mount("tmpfs", dir.c_str(), "tmpfs", flags, options) == 0;
  }
  ~Mounted() {
    if (ok_) umount2(dir_.c_str(), MNT_DETACH);
    fs::remove(dir_);
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  bool ok() const { return ok_; }

 private:
  std::string dir_;
  bool ok_ = false;
};

TEST(CommandLine, RuntimeDirectoryReadOnly_ErrorAndNoFiles) {
  Sandbox sandbox;
  const std::string dir = sandbox.root() + "/ro";
  {
    const Mounted mounted(dir, "mode=700", MS_RDONLY);
    if (!mounted.ok()) GTEST_SKIP() << "SKIPPED: mounting needs more rights than this test has";
    sandbox.set("DIVVY_RUNTIME_DIR", dir);
    expectOneLine(sandbox.divvy(simRun({"--memory", "1Gi"})), 1, "Read-only file system");
    EXPECT_TRUE(fs::is_empty(dir));
    sandbox.set("DIVVY_RUNTIME_DIR", sandbox.root());
  }
}

TEST(CommandLine, RuntimeDirectoryFull_ErrorAndNoTenant) {
  Sandbox sandbox;
  const std::string dir = sandbox.root() + "/full";
  {
    // Room for an agent, not for a tenant's pages (256 slots of 1 KiB, preallocated).
    const Mounted mounted(dir, "mode=700,size=128k", 0);
    if (!mounted.ok()) GTEST_SKIP() << "SKIPPED: mounting needs more rights than this test has";
    sandbox.set("DIVVY_RUNTIME_DIR", dir);
    const Outcome outcome = sandbox.divvy(simRun({"--memory", "1Gi"}));
    expectOneLine(outcome, 1, "No space left on device");
    EXPECT_TRUE(!fs::exists(dir + "/sim-h100/tenants") || fs::is_empty(dir + "/sim-h100/tenants"));
    EXPECT_EQ(sandbox.divvy({"stop"}).code(), 0);
    EXPECT_TRUE(fs::is_empty(dir));
    sandbox.set("DIVVY_RUNTIME_DIR", sandbox.root());
  }
}

// The loader finds this instead of a real driver, also on a machine that has one.
class FakeDriver {
 public:
  explicit FakeDriver(Sandbox& sandbox) : dir_(sandbox.root() + "-driver") {
    fs::create_directory(dir_);
    sandbox.set("LD_LIBRARY_PATH", dir_);
  }
  ~FakeDriver() { fs::remove_all(dir_); }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  std::string path() const { return dir_ + "/libnvidia-ml.so.1"; }

 private:
  std::string dir_;
};

TEST(CommandLine, BrokenDriver_NoDriverFoundAndNoFiles) {
  Sandbox sandbox;
  const FakeDriver driver(sandbox);
  std::ofstream(driver.path()) << "not a library";
  for (const Words& words : {Words{"run", "--memory", "1Gi", "--", "true"}, Words{"gpus"},
                             Words{"top"}, Words{"agent"}}) {
    expectOneLine(sandbox.divvy(words), 1, "no NVIDIA driver found");
    EXPECT_EQ(sandbox.files(), Words());
  }
}

TEST(CommandLine, MissingDriver_SimulatedCardSuggested) {
  if (fs::exists("/proc/driver/nvidia")) GTEST_SKIP() << "SKIPPED: this machine has a driver";
  Sandbox sandbox;
  expectOneLine(sandbox.divvy({"run", "--memory", "1Gi", "--", "true"}), 1,
                "use a simulated card (option --sim h100");
  EXPECT_EQ(sandbox.files(), Words());
}

TEST(CommandLine, DriverLostItsCards_NoUsableDevice) {
  Sandbox sandbox;
  sandbox.set("SIMGPU_FAULTS", "lost");
  expectOneLine(sandbox.divvy({"agent", "--node", "sim-h100"}), 1, "no usable device");
  EXPECT_EQ(sandbox.files(), Words());
}

TEST(CommandLine, DriverLacksSymbols_MissingSymbolNamed) {
  Sandbox sandbox;
  const FakeDriver driver(sandbox);
  fs::copy_file(buildDir() + "/tests/libpoor-nvml.so", driver.path());
  expectOneLine(sandbox.divvy({"gpus"}), 1, "lacks nvmlDeviceGetUUID");
  EXPECT_EQ(sandbox.files(), Words());
}

}  // namespace
}  // namespace divvy::test
