// A kubelet's folders, by whoever may enter them: what is asked of them is asked of this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace divvy::kubelet {

// Which file a name is now: another one of the same name differs. All 0: there is none.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;

  bool exists() const { return inode != 0; }
  friend bool operator==(const FileId&, const FileId&) = default;
};

inline constexpr std::string_view kKubeletSocket = "kubelet.sock";

// What a kubelet answers at a socket of its own.
enum class Api : std::uint8_t { kRegistration, kPodResources };

// Any thread. Names are those of files in the folder of device plugins, without '/'.
class KubeletDirs {
 public:
  virtual ~KubeletDirs() = default;

  // Where a name, or what answers, is; for messages.
  virtual std::string pathOf(std::string_view name) const = 0;
  virtual std::string pathOf(Api api) const = 0;

  // Empty: the folder itself.
  virtual FileId look(const std::string& name) = 0;
  // Whether somebody listens there: what a program left behind that has ended is only a file.
  virtual bool isListenedTo(const std::string& name) = 0;
  // A stream socket that listens there, and does not block; a leftover of that name is replaced.
  virtual Result<Fd> listen(const std::string& name) = 0;
  // Whatever is there goes.
  virtual void remove(const std::string& name) = 0;
  // A connection, which does not block. kUnavailable: nobody is there.
  virtual Result<Fd> dial(Api api) = 0;
  // An inotify descriptor that can be read when something has come into the folder or left it, and
  // does not block.
  virtual Result<Fd> watch() = 0;
  // The kubelet's own note (kubelet/checkpoint.h), open for reading. kNotFound: there is none.
  virtual Result<Fd> checkpoint() = 0;
};

// Those below `kubelet_dir` (/var/lib/kubelet), for a process that may enter them.
class LocalKubeletDirs final : public KubeletDirs {
 public:
  explicit LocalKubeletDirs(std::string kubelet_dir) : dir_(std::move(kubelet_dir)) {}

  std::string pathOf(std::string_view name) const override;
  std::string pathOf(Api api) const override;
  FileId look(const std::string& name) override;
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
