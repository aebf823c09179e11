// Facts of a machine, before checks judge them. Values only. Paths are those of the machine,
// without the folder that its files were read below.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::doctor {

// kNotFound: absent; kIo: not readable; kCorrupt: malformed.
using Text = Result<std::string>;

inline Error unread() {
  return {ErrorCode::kNotFound, "not checked"};
}
// Returns whether the thing is known to be absent. Other errors mean that nothing is known.
template <typename T>
bool isAbsent(const Result<T>& read) {
  return !read && read.error().code() == ErrorCode::kNotFound;
}

// Kind and attributes of a path.
struct PathInfo {
  enum class Kind { kFile, kFolder, kLink, kSocket, kDevice, kOther } kind = Kind::kOther;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;
  std::uint64_t size = 0;
  std::uint32_t gid = 0;
};

// The file system of a path.
struct FileSystemSpace {
  std::uint64_t size = 0, free = 0;         // bytes; free: for users other than root
  std::uint64_t files = 0, files_free = 0;  // 0: no such limit
  bool read_only = false, noexec = false;
};

struct PciCard {
  std::string address;  // "0000:3b:00.0"
  std::string driver;   // driver in use; empty: none
};

// libcuda or libnvidia-ml.
struct DriverLibrary {
  std::string path;     // path for the loader: .../libcuda.so.1
  bool cuda = false;    // false: NVML
  std::string version;  // of the file behind it: "535.54.03"; empty: not in its name
};

struct DriverFacts {
  std::vector<PciCard> cards;      // of NVIDIA, by /sys
  Text version = unread();         // /proc/driver/nvidia/version
  std::vector<std::string> nodes;  // in /dev: "nvidia0", "nvidiactl" ...
  std::vector<DriverLibrary> libraries;
  bool wsl = false;  // /dev/dxg: the driver of Windows
};

// A file that should be Divvy's library.
struct LibraryFile {
  std::string path;
  std::optional<Error> fault;  // why it cannot be read
  bool elf64 = false;
  std::uint16_t machine = 0;  // of its ELF header
  std::string soname;         // empty: none
  bool same = false;          // same bytes as the library beside this program
};

// Folder where this program is installed, or that an agent copied for containers.
struct LibraryFolder {
  std::string path;
  std::vector<LibraryFile> files;
  bool half_written = false;  // left by an agent that was killed while writing
};

struct InstallFacts {
  std::uint16_t machine = 0;  // of this program
  LibraryFolder own;
  std::string staged_dir;  // /var/lib/divvy
  bool staged_there = false;
  std::vector<LibraryFolder> staged;
  Result<FileSystemSpace> staged_space = unread();
  Text preload = unread();                  // /etc/ld.so.preload
  std::vector<std::string> preload_absent;  // names in it without a file
};

// A path below an agent's folder that is not as it should be.
struct PathAnomaly {
  std::string path;
  std::string what;  // "is writable by others (mode 0777)"
  bool harmless = false;
  // kForeign: not Divvy's; kHalfWritten: not complete; kOtherVersion: of another version.
  enum class Kind { kAccess, kForeign, kHalfWritten, kOtherVersion, kBroken };
  Kind kind = Kind::kForeign;
};

// A file named to a process, as that process finds it; it may have other files under the same
// paths.
struct NamedText {
  std::string path;
  Text text = unread();
};

// An agent's state of itself, its devices and tenants.
struct AgentAnswer {
  std::string version;                       // "0.1.0"; empty: not stated
  std::vector<std::string> card_faults;      // "GPU-... : Xid 79"
  std::vector<std::string> tenants_broken;   // with the reason
  std::vector<std::string> tenants_garbled;  // reports with an inconsistency
  std::vector<std::string> tenants_doubted;  // the driver measures more use than they report
  std::size_t cards = 0, tenants = 0;
  std::int64_t loop_late_ms = -1;     // largest lateness in the last minute; -1: not measured
  bool words_known = false;           // the agent's options are known
  std::optional<NamedText> settings;  // of its --node-settings; none: it has no such option
};

struct AgentFacts {
  std::string dir;  // /run/divvy/gpu
  bool socket = false;
  // kNotFound: no process listens. kUnavailable: a process listens and does not reply. kIo: no
  // permission.
  Result<AgentAnswer> answer = unread();
  std::vector<PathAnomaly> anomalies;
  std::size_t tenants = 0;  // folders
};

// A runtime directory: of this user, or of the node's agent.
struct RuntimeDir {
  std::string path;
  std::optional<PathInfo> place;
  std::vector<AgentFacts> agents;
  std::vector<PathAnomaly> anomalies;
  Result<FileSystemSpace> space = unread();
};

// A containerd configuration with its drop-ins.
struct RuntimeConfig {
  std::string path;
  std::string flavour;  // "containerd", "RKE2", "k3s"
  std::optional<Error> fault;
  std::uint32_t version = 0;          // of the file's form: 2 up to containerd 1.7, 3 from 2.0
  std::optional<bool> cdi;            // as stated; none: the default
  std::vector<std::string> runtimes;  // names
  std::vector<std::string> binaries;  // binary of each runtime; empty: not stated
  std::string default_runtime;        // empty: runc
};

struct RuntimeFacts {
  std::vector<RuntimeConfig> configs;
  std::vector<std::string> sockets;    // existing ones of containerd, CRI-O, Docker
  std::vector<std::string> cdi_specs;  // paths of specs for nvidia.com/gpu
  // NVIDIA's container toolkit.
  std::string toolkit_path;  // of the existing configuration
  Text toolkit = unread();   // "" if understood; else the error
  std::optional<bool>
      toolkit_by_variable;                // accept-nvidia-visible-devices-envvar-when-unprivileged
  std::optional<bool> toolkit_by_mounts;  // accept-nvidia-visible-devices-as-volume-mounts
  std::string toolkit_mode;               // nvidia-container-runtime.mode
  std::string toolkit_version;            // of Debian's package; empty: unknown
};

// NVIDIA's GPU Operator.
struct OperatorFacts {
  bool driver_root = false;        // /run/nvidia/driver is filled
  bool validations = false;        // /run/nvidia/validations exists
  std::vector<std::string> ready;  // files in it: "driver-ready", "plugin-ready" ...
  bool toolkit_dir = false;        // /usr/local/nvidia/toolkit
};

// A file with settings of single nodes, as an agent gets it (docs/reference/node-settings.md).
struct SettingsFile {
  std::string path;
  // The option or file that names it; empty: it is at the usual place.
  std::string told_by;
  // Unknown and unused keys, each with its place. kNotFound: no such file. kIo: not readable. Other
  // errors name fault and place.
  Result<std::vector<std::string>> unheeded = unread();
};

struct SettingsFacts {
  std::vector<SettingsFile> files;
  std::optional<Error> unlisted;  // why files that pods mount could not be searched
};

struct KubeletFacts {
  bool there = false;  // its folder exists
  std::string dir;     // /var/lib/kubelet
  std::optional<PathInfo> plugin_socket, resources_socket;
  std::optional<Error> plugins_fault;
  std::vector<std::string> sockets;  // names in device-plugins, without kubelet.sock
  Text checkpoint = unread();        // "" if understood; else the error
  std::size_t checkpoint_entries = 0;
  std::string checkpoint_doubt;  // about its checksum; empty: none
};

struct MachineFacts {
  bool cgroups_read = false, cgroup_v2 = false, cgroup_hybrid = false;
  // According to the kernel; none: not asked, or refused.
  std::optional<bool> clock_synchronised;
  std::uint64_t clock_error_us = 0;  // largest error, according to the clock's daemon
  std::optional<PathInfo> shm;
  Result<FileSystemSpace> shm_space = unread();
};

struct NodeFacts {
  std::string root = "/";  // folder that the machine was read below
  bool as_root = false;    // read with the rights to read everything
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
