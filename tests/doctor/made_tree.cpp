#include "made_tree.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "ledger/layout_hash.h"
#include "ledger/swap.h"
#include "ledger/work.h"

namespace divvy::doctor {
namespace {

namespace fs = std::filesystem;

template <typename T>
void put(std::string* bytes, std::size_t at, const T& value) {
  if (bytes->size() < at + sizeof value) bytes->resize(at + sizeof value);
  std::memcpy(bytes->data() + at, &value, sizeof value);
}

}  // namespace

std::uint16_t thisMachine() {
#if defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_X86_64;
#endif
}

std::string libraryBytes(const std::string& soname, std::uint16_t machine) {
  std::string bytes;
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_type = ET_DYN;
  head.e_machine = machine;
  head.e_phoff = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = 2;
  put(&bytes, 0, head);
  const std::size_t dynamic_at = sizeof head + 2 * sizeof(Elf64_Phdr);
  const Elf64_Dyn dynamic[3] = {
      {DT_STRTAB, {0x1000 + dynamic_at + 3 * sizeof(Elf64_Dyn)}}, {DT_SONAME, {1}}, {DT_NULL, {0}}};
  const std::string strings = std::string(1, '\0') + soname + std::string(1, '\0');
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_vaddr = 0x1000;
  load.p_filesz = dynamic_at + sizeof dynamic + strings.size();
  Elf64_Phdr part{};
  part.p_type = PT_DYNAMIC;
  part.p_offset = dynamic_at;
  part.p_filesz = sizeof dynamic;
  put(&bytes, sizeof head, load);
  put(&bytes, sizeof head + sizeof load, part);
  for (std::size_t i = 0; i < 3; ++i) put(&bytes, dynamic_at + i * sizeof(Elf64_Dyn), dynamic[i]);
  return bytes + strings;
}

MadeTree::MadeTree() {
  std::string pattern = fs::temp_directory_path().string() + "/divvy-doctor-XXXXXX";
  root_ = mkdtemp(pattern.data()) == nullptr ? "" : pattern;
}

MadeTree::~MadeTree() {
  std::error_code ignored;
  if (!root_.empty()) fs::remove_all(root_, ignored);
}

void MadeTree::folder(const std::string& path, unsigned mode) {
  fs::create_directories(real(path));
  this->mode(path, mode);
}

void MadeTree::file(const std::string& path, const std::string& text, unsigned mode) {
  fs::create_directories(fs::path(real(path)).parent_path());
  std::ofstream(real(path), std::ios::binary) << text;
  this->mode(path, mode);
}

void MadeTree::page(const std::string& path, std::uint64_t magic, std::uint64_t size) {
  ledger::Identification id{};
  id.magic = magic;
  id.major = ledger::kMajor;
  id.minor = ledger::kMinor;
  id.size = size;
  id.layout_hash = ledger::kLayoutHash;
  std::string bytes;
  put(&bytes, 0, id);
  file(path, bytes);
  cut(path, size);
}

void MadeTree::cut(const std::string& path, std::uint64_t size) {
  fs::resize_file(real(path), size);
}

void MadeTree::poke(const std::string& path, std::uint64_t at, char byte) {
  std::fstream file(real(path), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

void MadeTree::link(const std::string& path, const std::string& target) {
  fs::create_directories(fs::path(real(path)).parent_path());
  fs::create_symlink(target, real(path));
}

void MadeTree::socket(const std::string& path) {
  fs::create_directories(fs::path(real(path)).parent_path());
  mknod(real(path).c_str(), S_IFSOCK | 0600, 0);
}

void MadeTree::pipe(const std::string& path) {
  mkfifo(real(path).c_str(), 0600);
}

void MadeTree::mode(const std::string& path, unsigned mode) {
  chmod(real(path).c_str(), mode);
}

void MadeTree::remove(const std::string& path) {
  fs::remove_all(real(path));
}

std::string MadeTree::text(const std::string& path) const {
  std::ifstream file(real(path), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void MadeTree::healthyNode() {
  file("/sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
  file("/sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  folder("/sys/bus/pci/drivers/nvidia");
  link("/sys/bus/pci/devices/0000:3b:00.0/driver", "../../drivers/nvidia");
  file("/proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
       "GCC version:  gcc version 12.2.0\n");
  for (const char* name : {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"})
    file(std::string("/dev/") + name, "");
  const std::string lib = "/usr/lib/x86_64-linux-gnu";
  for (const char* name : {"libcuda.so", "libnvidia-ml.so"}) {
    file(lib + "/" + name + ".550.54.15", "a driver");
    link(lib + "/" + std::string(name) + ".1", std::string(name) + ".550.54.15");
  }
  link("/lib", "usr/lib");
  folder("/dev/shm", 01777);
  file("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  file("/etc/containerd/config.toml",
       "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  enable_cdi = true\n"
       "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n  default_runtime_name = \"runc\"\n"
       "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia.options]\n"
       "  BinaryName = \"/usr/bin/nvidia-container-runtime\"\n");
  socket("/run/containerd/containerd.sock");
  link("/var/run", "/run");
  file("/etc/nvidia-container-runtime/config.toml",
       "#accept-nvidia-visible-devices-envvar-when-unprivileged = true\n"
       "[nvidia-container-runtime]\nmode = \"auto\"\n");
  file("/var/lib/dpkg/status",
       "Package: nvidia-container-toolkit\nStatus: install ok installed\nVersion: 1.17.8-1\n\n");
  socket("/var/lib/kubelet/device-plugins/kubelet.sock");
  socket("/var/lib/kubelet/device-plugins/divvy-nvidia.com_gpu.sock");
  socket("/var/lib/kubelet/pod-resources/kubelet.sock");
  file("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
       R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661})", 0600);
  file("/etc/divvy/node-settings.yaml", "settings:\n- nodes: ['*']\n  per_device: 4\n");
  const std::string agent = "/run/divvy/gpu";
  folder("/run/divvy", 0755);
  folder(agent, 0700);
  file(agent + "/agent.lock", "");
  socket(agent + "/agent.sock");
  folder(agent + "/tenants", 0700);
  const std::string tenant = agent + "/tenants/abc234";
  page(tenant + "/control", ledger::kControlMagic, sizeof(ledger::ControlPage));
  page(tenant + "/report", ledger::kReportMagic, sizeof(ledger::ReportPage));
  page(tenant + "/work", ledger::kWorkMagic, sizeof(ledger::WorkPage));
  page(tenant + "/residency", ledger::kResidencyMagic, sizeof(ledger::ResidencyPage));
  page(tenant + "/swap", ledger::kSwapMagic, sizeof(ledger::SwapPage));
  file(tenant + "/tenant.json", R"({"version":1,"id":"abc234"})");
  for (const std::string dir : {"/opt/divvy/lib", "/var/lib/divvy/0123456789abcdef/lib"}) {
    file(dir + "/libdivvy-cuda.so", libraryBytes("libcuda.so.1", thisMachine()), 0755);
    file(dir + "/libdivvy-nvml.so", libraryBytes("libnvidia-ml.so.1", thisMachine()), 0755);
  }
  answer.version = "0.1.0";
  answer.cards = 1;
  answer.tenants = 1;
  answer.loop_late_ms = 2;
}

NodeOptions MadeTree::terms() const {
  NodeOptions terms;
  terms.version = "0.1.0";
  terms.runtime_dirs = {"/run/divvy"};
  terms.lib_dir = real("/opt/divvy/lib");
  terms.clock = false;
  // What counts here is by whom it is asked: agents' own words are tried in tests/cli.
  terms.settings = [](const std::string& text,
                      const std::string& path) -> Result<std::vector<std::string>> {
    if (!text.starts_with("settings:"))
      return Error{ErrorCode::kUsage, path + ":1:1: lacks settings"};
    if (text.find("per_devise") == std::string::npos) return std::vector<std::string>();
    return std::vector<std::string>{path + ":3:3: \"per_devise\" is not known"};
  };
  terms.ask = [this](const std::string&) -> Result<AgentAnswer> { return answer; };
  return terms;
}

NodeFacts MadeTree::read() const {
  const Result<RootFs> tree = RootFs::open(root_);
  if (!tree) return {};
  NodeFacts facts = readNode(*tree, terms());
  // A tree has no clock, and lies on whatever this machine has.
  facts.machine.clock_synchronised = true;
  const FileSystemSpace roomy{gib(8).count, gib(4).count, 1000000, 900000, false, false};
  for (RuntimeDir& dir : facts.runtimes) dir.space = roomy;
  facts.install.staged_space = roomy;
  if (facts.machine.shm_space) facts.machine.shm_space = roomy;
  return facts;
}

FindingState stateOf(const Findings& findings, const std::string& id) {
  FindingState worst = FindingState::kOk;
  for (const Finding& one : findings)
    if (one.id == id) worst = std::min(worst, one.state);
  return worst;
}

std::string saidOf(const Findings& findings, const std::string& id) {
  std::string text;
  for (const Finding& one : findings)
    if (one.id == id)
      text += std::string(nameOf(one.state)) + " " + one.subject + ": " + one.seen + "\n";
  return text;
}

}  // namespace divvy::doctor
