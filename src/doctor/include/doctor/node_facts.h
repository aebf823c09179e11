// What was read of a machine, before anybody judges it. Values only; paths are as the machine
// itself has them, without the folder that its tree was read below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::doctor {

// Not there (kNotFound), not to be read (kIo), not understood (kCorrupt), or what it says.
using Text = Result<std::string>;

inline Error unread() {
  return {ErrorCode::kNotFound, "not looked for"};
}
// There is none: that is knowledge. Other errors are lack of it.
template <typename T>
bool absent(const Result<T>& read) {
  return !read && read.error().code() == ErrorCode::kNotFound;
}

// What a path is.
struct Place {
  enum class Kind { kFile, kFolder, kLink, kSocket, kDevice, kOther } kind = Kind::kOther;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;
  std::uint64_t size = 0;
  std::uint32_t gid = 0;
};

// Of the file system that a path is on.
struct Space {
  std::uint64_t size = 0, free = 0;         // bytes; free: for whoever is not root
  std::uint64_t files = 0, files_free = 0;  // 0: it has no such limit
  bool read_only = false, noexec = false;
};

struct PciCard {
  std::string address;  // "0000:3b:00.0"
  std::string driver;   // that has it; empty: none
};

// libcuda or libnvidia-ml.
struct DriverLibrary {
  std::string path;     // by which the loader finds it: .../libcuda.so.1
  bool cuda = false;    // else NVML
  std::string version;  // of the file behind it: "535.54.03"; empty: its name says none
};

struct DriverFacts {
  std::vector<PciCard> cards;      // NVIDIA's, by /sys
  Text version = unread();         // /proc/driver/nvidia/version
  std::vector<std::string> nodes;  // in /dev: "nvidia0", "nvidiactl" ...
  std::vector<DriverLibrary> libraries;
  bool wsl = false;  // /dev/dxg: the driver is Windows'
};

// A file that is to be our library.
struct LibraryFile {
  std::string path;
  std::optional<Error> fault;  // it cannot be read
  bool elf64 = false;
  std::uint16_t machine = 0;  // as its ELF header has it
  std::string soname;         // empty: none
  bool same = false;          // byte by byte what lies beside this program
};

// Where this program is installed, or what an agent copied for containers.
struct LibraryFolder {
  std::string path;
  std::vector<LibraryFile> files;
  bool half_written = false;  // an agent was killed while it wrote it
};

struct InstallFacts {
  std::uint16_t machine = 0;  // this program's
  LibraryFolder own;
  std::string staged_dir;  // /var/lib/divvy
  bool staged_there = false;
  std::vector<LibraryFolder> staged;
  Result<Space> staged_space = unread();
  Text preload = unread();                  // /etc/ld.so.preload
  std::vector<std::string> preload_absent;  // names in it that no file has
};

// A path below an agent's folder that is not as it should be.
struct Oddity {
  std::string path;
  std::string what;  // "is writable by others (mode 0777)"
  bool harmless = false;
  // By what it can be told apart: foreign to us, left half done, another version's, or broken.
  enum class Kind { kAccess, kForeign, kHalfWritten, kOtherVersion, kBroken };
  Kind kind = Kind::kForeign;
};

// A file that somebody was told of, as he finds it: he may see other files under the same paths.
struct NamedText {
  std::string path;
  Text text = unread();
};

// What an agent says of itself, of its cards and tenants.
struct AgentAnswer {
  std::string version;                       // "0.1.0"; empty: it did not say
  std::vector<std::string> card_faults;      // "GPU-... : Xid 79"
  std::vector<std::string> tenants_broken;   // with the reason
  std::vector<std::string> tenants_garbled;  // their reports say what cannot be
  std::vector<std::string> tenants_doubted;  // the driver sees more use of theirs than they report
  std::size_t cards = 0, tenants = 0;
  std::int64_t loop_late_ms = -1;     // the most in the last minute; -1: it is not measured
  bool words_known = false;           // with which options it was begun
  std::optional<NamedText> settings;  // by its --node-settings; none: it was given none
};

struct AgentFacts {
  std::string dir;  // /run/divvy/gpu
  bool socket = false;
  // kNotFound: nobody listens; kUnavailable: somebody does, and does not answer; kIo: not ours to
  // ask.
  Result<AgentAnswer> answer = unread();
  std::vector<Oddity> oddities;
  std::size_t tenants = 0;  // folders
};

// A runtime directory: of this user, or of the node's agent.
struct RuntimeDir {
  std::string path;
  std::optional<Place> place;
  std::vector<AgentFacts> agents;
  std::vector<Oddity> oddities;
  Result<Space> space = unread();
};

// A containerd configuration, drop-ins included.
struct RuntimeConfig {
  std::string path;
  std::string flavour;  // "containerd", "RKE2", "k3s"
  std::optional<Error> fault;
  std::uint32_t version = 0;          // of the file's form: 2 up to containerd 1.7, 3 from 2.0
  std::optional<bool> cdi;            // as it is said; none: the default
  std::vector<std::string> runtimes;  // names
  std::vector<std::string> binaries;  // of each, what it runs; empty: not said
  std::string default_runtime;        // empty: runc
};

struct RuntimeFacts {
  std::vector<RuntimeConfig> configs;
  std::vector<std::string> sockets;    // of containerd, CRI-O, Docker, that are there
  std::vector<std::string> cdi_specs;  // paths of those for nvidia.com/gpu
  // NVIDIA's container toolkit.
  std::string toolkit_path;  // of the configuration that is there
  Text toolkit = unread();   // "" where it was understood; else the error
  std::optional<bool>
      toolkit_by_variable;                // accept-nvidia-visible-devices-envvar-when-unprivileged
  std::optional<bool> toolkit_by_mounts;  // accept-nvidia-visible-devices-as-volume-mounts
  std::string toolkit_mode;               // nvidia-container-runtime.mode
  std::string toolkit_version;            // of Debian's package; empty: not known
};

// NVIDIA's GPU Operator.
struct OperatorFacts {
  bool driver_root = false;        // /run/nvidia/driver is filled
  bool validations = false;        // /run/nvidia/validations is there
  std::vector<std::string> ready;  // files in it: "driver-ready", "plugin-ready" ...
  bool toolkit_dir = false;        // /usr/local/nvidia/toolkit
};

// Settings of single nodes, as agents are given them (docs/node-settings.md).
struct SettingsFile {
  std::string path;
  std::string told_by;  // who names it; empty: it lies where they usually are
  // Its keys that are not known or not heeded, each with its place. kNotFound: it is not there;
  // kIo: not to be read; else what of it is wrong, and where.
  Result<std::vector<std::string>> unheeded = unread();
};

struct SettingsFacts {
  std::vector<SettingsFile> files;
  std::optional<Error> unlisted;  // what pods have mounted may not be looked through
};

struct KubeletFacts {
  bool there = false;  // its folder
  std::string dir;     // /var/lib/kubelet
  std::optional<Place> plugin_socket, resources_socket;
  std::optional<Error> plugins_fault;
  std::vector<std::string> sockets;  // names in device-plugins, but for kubelet.sock
  Text checkpoint = unread();        // "" where it was understood; else the error
  std::size_t checkpoint_entries = 0;
  std::string checkpoint_doubt;  // of its checksum; empty: nothing speaks against it
};

struct MachineFacts {
  bool cgroups_read = false, cgroup_v2 = false, cgroup_hybrid = false;
  // By the kernel; none: it was not asked, or refused.
  std::optional<bool> clock_synchronised;
  std::uint64_t clock_error_us = 0;  // at most so much is it off, as its daemon says
  std::optional<Place> shm;
  Result<Space> shm_space = unread();
};

struct NodeFacts {
  std::string root = "/";  // what it was read below
  bool as_root = false;    // with the rights to read everything
  std::string version;     // of this program
  DriverFacts driver;
  InstallFacts install;
  std::vector<RuntimeDir> runtimes;
  SettingsFacts settings;
  RuntimeFacts runtime;
  OperatorFacts gpu_operator;
  KubeletFacts kubelet;
  MachineFacts machine;
};

}  // namespace divvy::doctor
