// The kubelet's folders, as an interface for processes with and without access to them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace divvy::kubelet {

// Identity of a file; a replaced file of the same name differs. All 0: no file.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;

  bool exists() const { return inode != 0; }
  friend bool operator==(const FileId&, const FileId&) = default;
};

inline constexpr std::string_view kKubeletSocket = "kubelet.sock";

// APIs that a kubelet serves on sockets of its own.
enum class Api : std::uint8_t { kRegistration, kPodResources };

// Used from any thread. Names are file names in the folder of device plugins, without '/'.
class KubeletDirs {
 public:
  virtual ~KubeletDirs() = default;

  // Return the path of a file or API, for messages.
  virtual std::string pathOf(std::string_view name) const = 0;
  virtual std::string pathOf(Api api) const = 0;

  // Returns the identity of a file. Empty name: the folder itself.
  virtual FileId fileIdOf(const std::string& name) = 0;
  // Returns whether a process listens on the socket; a file left by a process that ended does not
  // count.
  virtual bool isListenedTo(const std::string& name) = 0;
  // Returns a non-blocking stream socket that listens under the name. An old file of that name is
  // replaced.
  virtual Result<Fd> listen(const std::string& name) = 0;
  // Removes the file, if it exists.
  virtual void remove(const std::string& name) = 0;
  // Returns a non-blocking connection. kUnavailable: no process listens.
  virtual Result<Fd> dial(Api api) = 0;
  // Returns a non-blocking inotify descriptor. It is readable when a file was added to the folder
  // or removed from it.
  virtual Result<Fd> watch() = 0;
  // Opens the kubelet's checkpoint (kubelet/checkpoint.h) for reading. kNotFound: there is none.
  virtual Result<Fd> checkpoint() = 0;
};

// The folders below `kubelet_dir` (/var/lib/kubelet), for a process with access to them.
class LocalKubeletDirs final : public KubeletDirs {
 public:
  explicit LocalKubeletDirs(std::string kubelet_dir) : dir_(std::move(kubelet_dir)) {}

  std::string pathOf(std::string_view name) const override;
  std::string pathOf(Api api) const override;
  FileId fileIdOf(const std::string& name) override;
  bool isListenedTo(const std::string& name) override;
  Result<Fd> listen(const std::string& name) override;
  void remove(const std::string& name) override;
  Result<Fd> dial(Api api) override;
  Result<Fd> watch() override;
  Result<Fd> checkpoint() override;

 private:
  const std::string dir_;
};

}  // namespace divvy::kubelet
