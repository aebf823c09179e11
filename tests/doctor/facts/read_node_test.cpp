// Made-up machines: whole, spoiled one thing at a time, and spoiled at random.
#include "doctor/read_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include <boost/json.hpp>

#include "base/rng.h"
#include "doctor/report.h"
#include "facts/readers.h"
#include "made_tree.h"

namespace divvy::doctor {
namespace {

namespace fs = std::filesystem;

TEST(ReadNode, HealthyNode_EveryFindingOk) {
  MadeTree made;
  made.healthyNode();
  for (const Finding& one : made.findings())
    EXPECT_EQ(one.state, FindingState::kOk) << one.id << ' ' << one.subject << ": " << one.seen;
}

TEST(ReadNode, EmptyMachine_SkippedWithoutFaults) {
  MadeTree made;
  // But for what this program itself lies beside.
  for (const auto& [name, soname] :
       {std::pair("cuda", "libcuda.so.1"), std::pair("nvml", "libnvidia-ml.so.1")})
    made.file(std::string("/opt/divvy/lib/libdivvy-") + name + ".so",
              libraryBytes(soname, thisMachine()));
  const Findings findings = made.findings();
  for (const Finding& one : findings)
    EXPECT_NE(one.state, FindingState::kFault) << one.id << ": " << one.seen;
  EXPECT_EQ(stateOf(findings, "driver-loaded"), FindingState::kSkipped);
  EXPECT_EQ(stateOf(findings, "kubelet-sockets"), FindingState::kSkipped);
  EXPECT_EQ(stateOf(findings, "agent-state"), FindingState::kSkipped);
}

struct Spoiled {
  const char* name;
  const char* id;
  FindingState state;
  std::function<void(MadeTree&)> spoil;
};

const std::string kTenant = "/run/divvy/gpu/tenants/abc234";
const std::string kConfig = "/etc/containerd/config.toml";

std::vector<Spoiled> spoiledDrivers() {
  const std::string lib = "/usr/lib/x86_64-linux-gnu";
  return {
      {"no module", "driver-loaded", FindingState::kFault,
       [](MadeTree& t) { t.remove("/proc/driver"); }},
      {"bound to nouveau", "driver-loaded", FindingState::kFault,
       [](MadeTree& t) {
         t.remove("/proc/driver");
         t.remove("/sys/bus/pci/devices/0000:3b:00.0/driver");
         t.link("/sys/bus/pci/devices/0000:3b:00.0/driver", "../../drivers/nouveau");
       }},
      {"no NVML", "driver-libraries", FindingState::kFault,
       [lib](MadeTree& t) { t.remove(lib + "/libnvidia-ml.so.1"); }},
      {"a dangling libcuda", "driver-libraries", FindingState::kFault,
       [lib](MadeTree& t) { t.remove(lib + "/libcuda.so.550.54.15"); }},
      {"upgraded and not restarted", "driver-versions", FindingState::kFault,
       [lib](MadeTree& t) {
         t.remove(lib + "/libcuda.so.1");
         t.file(lib + "/libcuda.so.560.35.03", "newer");
         t.link(lib + "/libcuda.so.1", "libcuda.so.560.35.03");
       }},
      {"no control device", "driver-devices", FindingState::kFault,
       [](MadeTree& t) { t.remove("/dev/nvidiactl"); }},
      {"no uvm", "driver-devices", FindingState::kWarning,
       [](MadeTree& t) { t.remove("/dev/nvidia-uvm"); }},
  };
}

std::vector<Spoiled> spoiledAgents() {
  return {
      {"open to all", "agent-folders", FindingState::kFault,
       [](MadeTree& t) { t.mode("/run/divvy/gpu", 0777); }},
      {"a link in place of the folder", "agent-folders", FindingState::kFault,
       [](MadeTree& t) {
         t.remove("/run/divvy/gpu");
         t.folder("/elsewhere", 0700);
         t.link("/run/divvy/gpu", "/elsewhere");
       }},
      {"an empty note", "agent-state", FindingState::kFault,
       [](MadeTree& t) { t.file(kTenant + "/tenant.json", ""); }},
      {"a note cut short", "agent-state", FindingState::kFault,
       [](MadeTree& t) { t.file(kTenant + "/tenant.json", R"({"version":1,"id":"ab)"); }},
      {"another tenant's note", "agent-state", FindingState::kFault,
       [](MadeTree& t) { t.file(kTenant + "/tenant.json", R"({"version":1,"id":"zzz999"})"); }},
      {"a page cut short", "agent-state", FindingState::kFault,
       [](MadeTree& t) { t.file(kTenant + "/control", "DIV"); }},
      {"a page of zeros", "agent-state", FindingState::kFault,
       [](MadeTree& t) { t.file(kTenant + "/report", std::string(4096, '\0')); }},
      {"a page is gone", "agent-state", FindingState::kFault,
       [](MadeTree& t) { t.remove(kTenant + "/work"); }},
      {"a pipe in place of a page", "agent-state", FindingState::kFault,
       [](MadeTree& t) {
         t.remove(kTenant + "/control");
         t.pipe(kTenant + "/control");
       }},
      {"half written", "agent-state", FindingState::kWarning,
       [](MadeTree& t) { t.file(kTenant + "/tenant.json.new", "{"); }},
      {"half made", "agent-state", FindingState::kWarning,
       [](MadeTree& t) { t.folder("/run/divvy/gpu/tenants/.new-Ab12cd"); }},
      {"somebody's file", "agent-state", FindingState::kWarning,
       [](MadeTree& t) { t.file("/run/divvy/gpu/core.1234", ""); }},
      {"another version", "agent-version", FindingState::kWarning,
       [](MadeTree& t) { t.answer.version = "0.0.9"; }},
      {"a card with a fault", "agent-cards", FindingState::kFault,
       [](MadeTree& t) { t.answer.card_faults = {"GPU-1: Xid 79"}; }},
      {"a report that cannot be", "agent-tenants", FindingState::kWarning,
       [](MadeTree& t) { t.answer.tenants_garbled = {"tenant abc234: report: sum mismatch"}; }},
      {"a doubted tenant", "agent-tenants", FindingState::kWarning,
       [](MadeTree& t) { t.answer.tenants_doubted = {"abc234"}; }},
      {"no agent, tenants left", "agent-answers", FindingState::kWarning,
       [](MadeTree& t) { t.remove("/run/divvy/gpu/agent.sock"); }},
      {"no agent on a node", "agent-answers", FindingState::kWarning,
       [](MadeTree& t) { t.remove("/run/divvy"); }},
  };
}

std::vector<Spoiled> spoiledInstalls() {
  const std::string own = "/opt/divvy/lib/libdivvy-cuda.so";
  const std::string staged = "/var/lib/divvy/0123456789abcdef/lib/libdivvy-nvml.so";
  return {
      {"a library is gone", "interposer-libraries", FindingState::kFault,
       [own](MadeTree& t) { t.remove(own); }},
      {"no ELF", "interposer-libraries", FindingState::kFault,
       [own](MadeTree& t) { t.file(own, "#!/bin/sh\n"); }},
      {"for another processor", "interposer-libraries", FindingState::kFault,
       [own](MadeTree& t) { t.file(own, libraryBytes("libcuda.so.1", 8)); }},
      {"of another name", "interposer-libraries", FindingState::kFault,
       [own](MadeTree& t) { t.file(own, libraryBytes("libvgpu.so", thisMachine())); }},
      {"cut short for containers", "staged-libraries", FindingState::kFault,
       [staged](MadeTree& t) { t.file(staged, t.text(staged).substr(0, 100)); }},
      {"another build's for containers", "staged-libraries", FindingState::kWarning,
       [staged](MadeTree& t) { t.file(staged, t.text(staged) + "more"); }},
      {"copying was cut off", "staged-libraries", FindingState::kWarning,
       [](MadeTree& t) { t.folder("/var/lib/divvy/.new/lib"); }},
      {"ours in the host's preload", "host-preload", FindingState::kFault,
       [](MadeTree& t) { t.file("/etc/ld.so.preload", "/opt/divvy/lib/libdivvy-cuda.so\n"); }},
      {"what is gone in the host's preload", "host-preload", FindingState::kFault,
       [](MadeTree& t) { t.file("/etc/ld.so.preload", "/usr/lib/gone.so\n"); }},
      {"HAMi's in the host's preload", "host-preload", FindingState::kWarning,
       [](MadeTree& t) {
         t.file("/usr/local/vgpu/libvgpu.so", "");
         t.file("/etc/ld.so.preload", "/usr/local/vgpu/libvgpu.so");
       }},
  };
}

std::vector<Spoiled> spoiledRuntimes() {
  return {
      {"no TOML", "container-runtime", FindingState::kFault,
       [](MadeTree& t) { t.file(kConfig, "version = 2\n[plugins\n"); }},
      {"CDI off beside specs", "runtime-cdi", FindingState::kWarning,
       [](MadeTree& t) {
         t.file(kConfig, "version = 2\n");
         t.file("/run/cdi/nvidia.yaml", "kind: nvidia.com/gpu\n");
       }},
      {"no runtime of NVIDIA's", "nvidia-runtime", FindingState::kWarning,
       [](MadeTree& t) { t.file(kConfig, "version = 2\n"); }},
      {"NVIDIA's runtime for all", "visible-devices", FindingState::kWarning,
       [](MadeTree& t) {
         t.file("/etc/containerd/conf.d/99-nvidia.toml",
                "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
                "default_runtime_name = \"nvidia\"\n");
         t.file(kConfig, "imports = [\"/etc/containerd/conf.d/*.toml\"]\n" + t.text(kConfig));
       }},
      {"the variable is off", "visible-devices", FindingState::kWarning,
       [](MadeTree& t) {
         t.file("/etc/nvidia-container-runtime/config.toml",
                "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n");
       }},
      {"the toolkit's is no TOML", "visible-devices", FindingState::kFault,
       [](MadeTree& t) { t.file("/etc/nvidia-container-runtime/config.toml", "= true"); }},
      {"an old toolkit", "toolkit-version", FindingState::kWarning,
       [](MadeTree& t) {
         t.file("/var/lib/dpkg/status",
                "Package: nvidia-container-toolkit\nStatus: install ok installed\n"
                "Version: 1.17.7-1\n");
       }},
      {"the operator's plugin", "gpu-operator", FindingState::kWarning,
       [](MadeTree& t) {
         t.file("/run/nvidia/validations/driver-ready", "");
         t.file("/run/nvidia/validations/plugin-ready", "");
       }},
      {"the operator did not finish", "gpu-operator", FindingState::kWarning,
       [](MadeTree& t) { t.folder("/run/nvidia/validations"); }},
  };
}

std::vector<Spoiled> spoiledKubelets() {
  const std::string plugins = "/var/lib/kubelet/device-plugins";
  return {
      {"the kubelet is down", "kubelet-sockets", FindingState::kFault,
       [plugins](MadeTree& t) { t.remove(plugins + "/kubelet.sock"); }},
      {"a file in place of a socket", "kubelet-sockets", FindingState::kFault,
       [](MadeTree& t) {
         t.remove("/var/lib/kubelet/pod-resources/kubelet.sock");
         t.file("/var/lib/kubelet/pod-resources/kubelet.sock", "");
       }},
      {"NVIDIA's plugin", "other-plugins", FindingState::kWarning,
       [plugins](MadeTree& t) { t.socket(plugins + "/nvidia-gpu.sock"); }},
      {"a checkpoint cut short", "kubelet-checkpoint", FindingState::kFault,
       [plugins](MadeTree& t) {
         t.file(plugins + "/kubelet_internal_checkpoint", R"({"Data":{"PodDev)");
       }},
      {"a checkpoint that its checksum is not of", "kubelet-checkpoint", FindingState::kWarning,
       [plugins](MadeTree& t) {
         t.file(plugins + "/kubelet_internal_checkpoint",
                R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})");
       }},
      {"cgroups of version 1", "cgroup-version", FindingState::kWarning,
       [](MadeTree& t) { t.remove("/sys/fs/cgroup/cgroup.controllers"); }},
      {"no shared memory", "shared-memory", FindingState::kWarning,
       [](MadeTree& t) { t.remove("/dev/shm"); }},
      {"closed shared memory", "shared-memory", FindingState::kWarning,
       [](MadeTree& t) { t.mode("/dev/shm", 0755); }},
  };
}

const std::string kSettings = "/etc/divvy/node-settings.yaml";
const std::string kPodsSettings = "/volumes/kubernetes.io~configmap/config/node-settings.yaml";

std::vector<Spoiled> spoiledSettings() {
  return {
      {"half written", "node-settings", FindingState::kFault,
       [](MadeTree& t) { t.file(kSettings, "sett"); }},
      {"of nothing", "node-settings", FindingState::kFault,
       [](MadeTree& t) { t.file(kSettings, ""); }},
      {"a pipe in its place", "node-settings", FindingState::kFault,
       [](MadeTree& t) {
         t.remove(kSettings);
         t.pipe(kSettings);
       }},
      {"a key that is not known", "node-settings", FindingState::kWarning,
       [](MadeTree& t) { t.file(kSettings, "settings:\n- nodes: ['*']\n  per_devise: 4\n"); }},
      {"half written, and named by the service", "node-settings", FindingState::kFault,
       [](MadeTree& t) {
         t.file("/etc/divvy/half.yaml", "sett");
         t.file("/etc/default/divvy-agent",
                "NODE_NAME=gpu-7\nDIVVY_AGENT_ARGS=\"--per-device 4 "
                "--node-settings=/etc/divvy/half.yaml\"\n");
       }},
      {"gone, and named by the service", "node-settings", FindingState::kFault,
       [](MadeTree& t) {
         t.file("/etc/default/divvy-agent",
                "# --node-settings /etc/divvy/old.yaml\n"
                "DIVVY_AGENT_ARGS='--node-settings /etc/divvy/gone.yaml --per-device 4'\n");
       }},
      {"half written, and an agent's own", "node-settings", FindingState::kFault,
       [](MadeTree& t) {
         t.answer.settings = NamedText{kSettings, std::string("sett")};
       }},
      {"half written, and mounted into its pod", "node-settings", FindingState::kFault,
       [](MadeTree& t) {
         const std::string pod = "/var/lib/kubelet/pods/6f1c";
         t.file(pod + "/volumes/kubernetes.io~configmap/config/..data/node-settings.yaml", "sett");
         t.link(pod + kPodsSettings, "..data/node-settings.yaml");
       }},
  };
}

// Each makes its own check fire, and no other; but for those that one cause explains together.
void tryAll(const std::vector<Spoiled>& all) {
  for (const Spoiled& one : all) {
    MadeTree made;
    made.healthyNode();
    one.spoil(made);
    const Findings findings = made.findings();
    EXPECT_EQ(stateOf(findings, one.id), one.state) << one.name << "\n" << saidOf(findings, one.id);
    for (const Finding& found : findings) {
      const bool bad = found.state == FindingState::kFault || found.state == FindingState::kWarning;
      if (bad) {
        EXPECT_FALSE(found.means.empty() || found.fix.empty()) << found.id;
      }
      if (found.state == FindingState::kFault) {
        EXPECT_EQ(found.id, one.id) << one.name;
      }
    }
  }
}

TEST(ReadNode, DriverFaults_FoundByTheirCheck) {
  tryAll(spoiledDrivers());
}
TEST(ReadNode, AgentFaults_FoundByTheirCheck) {
  tryAll(spoiledAgents());
}
TEST(ReadNode, InstallFaults_FoundByTheirCheck) {
  tryAll(spoiledInstalls());
}
TEST(ReadNode, RuntimeFaults_FoundByTheirCheck) {
  tryAll(spoiledRuntimes());
}
TEST(ReadNode, KubeletFaults_FoundByTheirCheck) {
  tryAll(spoiledKubelets());
}

TEST(ReadNode, SettingsFaults_FoundByTheirCheck) {
  tryAll(spoiledSettings());
}

// Only the magic was looked at: what had lost the rest of itself was called well.
TEST(ReadNode, TruncatedPage_FaultWithSizes) {
  for (const char* name : {"control", "report", "work", "residency", "swap"}) {
    const std::string path = kTenant + "/" + name;
    MadeTree made;
    made.healthyNode();
    const std::uint64_t size = fs::file_size(made.real(path));
    for (const std::uint64_t left :
         {size - 1, std::uint64_t{4096}, std::uint64_t{64}, std::uint64_t{63}, std::uint64_t{0}}) {
      made.cut(path, left);
      const std::string said = saidOf(made.findings(), "agent-state");
      EXPECT_EQ(said, "fault " + path + ": has " + std::to_string(left) + " bytes of " +
                          std::to_string(size) + "\n");
    }
  }
}

TEST(ReadNode, PageOfOtherLayoutOrVersion_FaultOrWarning) {
  struct {
    std::size_t at;
    FindingState state;
    const char* says;
  } cases[] = {{0, FindingState::kFault, "is not a ledger file"},
               {8, FindingState::kWarning, "is of a newer version"},
               {16, FindingState::kFault, "is of another layout"},
               {24, FindingState::kFault, "is of another layout"}};
  for (const auto& one : cases) {
    MadeTree made;
    made.healthyNode();
    const std::string path = kTenant + "/control";
    made.poke(path, one.at, static_cast<char>(made.text(path)[one.at] + 1));
    const Findings findings = made.findings();
    EXPECT_EQ(stateOf(findings, "agent-state"), one.state) << one.at;
    EXPECT_NE(saidOf(findings, "agent-state").find(one.says), std::string::npos) << one.at;
  }
  // Without oversubscription there are no such pages.
  MadeTree made;
  made.healthyNode();
  made.remove(kTenant + "/residency");
  made.remove(kTenant + "/swap");
  EXPECT_EQ(stateOf(made.findings(), "agent-state"), FindingState::kOk);
}

// Root reads everything: only the others can be shut out.
TEST(ReadNode, UnreadableFile_SkippedWithReason) {
  MadeTree made;
  made.healthyNode();
  NodeFacts facts = made.read();
  facts.kubelet.checkpoint = Error(ErrorCode::kIo, "x: Permission denied");
  facts.runtimes.front().agents.front().answer = Error(ErrorCode::kIo, "Permission denied");
  facts.install.preload = Error(ErrorCode::kIo, "Permission denied");
  const Findings findings = diagnose(facts);
  for (const char* id : {"kubelet-checkpoint", "agent-answers", "host-preload"}) {
    EXPECT_EQ(stateOf(findings, id), FindingState::kSkipped) << id;
    EXPECT_NE(saidOf(findings, id).find("Permission denied"), std::string::npos) << id;
  }
}

TEST(ReadNode, RancherAndNewContainerdConfigs_Read) {
  MadeTree made;
  made.healthyNode();
  const std::string text =
      "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd]\n"
      "default_runtime_name = 'runc'\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes."
      "nvidia]\nruntime_type = 'io.containerd.runc.v2'\n";
  made.file("/var/lib/rancher/rke2/agent/etc/containerd/config.toml", text);
  made.file("/var/lib/rancher/k3s/agent/etc/containerd/config.toml", text);
  const NodeFacts facts = made.read();
  ASSERT_EQ(facts.runtime.configs.size(), 3u);
  for (const std::size_t at : {1u, 2u}) {
    const RuntimeConfig& config = facts.runtime.configs[at];
    EXPECT_EQ(config.flavour, at == 1 ? "RKE2" : "k3s");
    EXPECT_EQ(config.version, 3u);
    EXPECT_FALSE(config.cdi.has_value());
    EXPECT_EQ(config.runtimes, std::vector<std::string>{"nvidia"});
  }
  const Findings findings = diagnose(facts);
  EXPECT_EQ(stateOf(findings, "runtime-cdi"), FindingState::kOk) << saidOf(findings, "runtime-cdi");
  EXPECT_EQ(stateOf(findings, "nvidia-runtime"), FindingState::kOk);
}

// The bytes are anybody's: what they say is bounded by how many there are.
TEST(ReadNode, RandomElfBytes_NameBoundedOrRefused) {
  Rng rng(20261124);
  const std::string whole = libraryBytes("libcuda.so.1", thisMachine());
  ASSERT_EQ(elfWords(whole)->soname, "libcuda.so.1");
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (std::size_t i = 0; i < 1 + rng.below(6); ++i)
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(4) == 0 ? 0xff : rng.next());
    if (rng.below(4) == 0) bytes.resize(rng.below(bytes.size()));
    const Result<ElfReader> words = elfWords(bytes);
    if (words) {
      EXPECT_LT(words->soname.size(), bytes.size());
    }
  }
}

// Whatever lies there: the doctor ends, each check says something, and what it says is JSON.
TEST(ReadNode, RandomDamage_EveryCheckReportsAndJsonIsValid) {
  Rng rng(20261124);
  for (int round = 0; round < 60; ++round) {
    MadeTree made;
    made.healthyNode();
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(made.root()))
      if (entry.symlink_status().type() == fs::file_type::regular)
        files.push_back(entry.path().string().substr(made.root().size()));
    for (int harm = 0; harm < 6; ++harm) {
      const std::string path = files[rng.below(files.size())];
      if (!fs::is_regular_file(fs::symlink_status(made.real(path)))) continue;
      const std::uint64_t size = fs::file_size(made.real(path));
      switch (rng.below(5)) {
        case 0:
          made.cut(path, size == 0 ? 0 : rng.below(size));
          break;
        case 1:
          // Of pages what is looked at.
          for (int i = 0; i < 8 && size > 0; ++i)
            made.poke(path, rng.below(std::min<std::uint64_t>(size, 4096)),
                      static_cast<char>(rng.next()));
          break;
        case 2:
          made.remove(path);
          made.pipe(path);
          break;
        case 3:
          made.remove(path);
          made.link(path, path);
          break;
        default:
          made.remove(path);
          made.folder(path);
      }
    }
    const Findings findings = made.findings();
    for (const Check& check : checks())
      if (check.scope == FindingScope::kNode) {
        EXPECT_FALSE(saidOf(findings, check.id).empty()) << check.id;
      }
    boost::system::error_code fault;
    boost::json::parse(jsonOf({"0.1.0", 0, "/", "", findings}), fault);
    EXPECT_FALSE(fault) << fault.message();
  }
}

}  // namespace
}  // namespace divvy::doctor
