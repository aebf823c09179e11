// What an agent without rights of its own sees of its node through its helper.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/processes.h"
#include "driver/process_source.h"
#include "helper/client.h"
#include "kubelet/kubelet_dirs.h"

namespace divvy::helper {

// As long as an agent waits for one answer.
inline constexpr std::chrono::milliseconds kPatience{2000};
// Likewise for the peer of a connection: a tenant causes the question as often as it connects.
inline constexpr std::chrono::milliseconds kPeerPatience{500};

// The node's processes. `/proc` was opened by the helper and is read directly: with this process'
// own rights, so of others what anybody may read.
class RemoteProcesses final : public Processes {
 public:
  // kUnavailable: the helper is not there, or of another version.
  static Result<std::unique_ptr<RemoteProcesses>> make(std::shared_ptr<Client> link);

  std::string folder() const override;
  Fd open(int pid) const override;
  // Each thread asks over a connection of its own: no question waits for another's answer.
  Result<Peer> peer(int connection) const override;
  int self() const override { return self_; }
  bool direct() const override { return false; }

 private:
  RemoteProcesses(std::shared_ptr<Client> link, Fd proc, int self);
  Client& ownLink() const;

  const std::shared_ptr<Client> link_;
  const Fd proc_;
  const int self_;
};

// The kubelet's folders. While the helper is away, files are what they were.
class RemoteKubeletDirs final : public kubelet::KubeletDirs {
 public:
  RemoteKubeletDirs(std::shared_ptr<Client> link, std::string kubelet_dir);

  std::string pathOf(std::string_view name) const override { return names_.pathOf(name); }
  std::string pathOf(kubelet::Api api) const override { return names_.pathOf(api); }
  kubelet::FileId look(const std::string& name) override;
  bool isListenedTo(const std::string& name) override;
  Result<Fd> listen(const std::string& name) override;
  void remove(const std::string& name) override;
  Result<Fd> dial(kubelet::Api api) override;
  Result<Fd> watch() override;
  Result<Fd> checkpoint() override;

 private:
  const std::shared_ptr<Client> link_;
  const kubelet::LocalKubeletDirs names_;  // for paths only
  std::mutex mutex_;                       // of the two below
  std::map<std::string, kubelet::FileId> seen_;
  std::map<std::string, bool> heard_;
};

// Who uses a device. While the helper is away, who used it last.
class RemoteUsage final : public driver::ProcessSource {
 public:
  explicit RemoteUsage(std::shared_ptr<Client> link) : link_(std::move(link)) {}

  std::vector<driver::ProcessUse> processes(const std::string& uuid) override;
  std::vector<driver::ProcessTime> times(const std::string& uuid) override;

 private:
  const std::shared_ptr<Client> link_;
  std::map<std::string, std::vector<driver::ProcessUse>> uses_;
  std::map<std::string, std::vector<driver::ProcessTime>> times_;
};

// What an agent of root's made meanwhile is for this one, too.
Result<void> shareDirsAgain(Client& link);

// The folder of a runtime's devices (CDI): what it may read there it reads itself. `name`: of a
// file of ours (isSpecName).
Result<void> writeSpec(Client& link, const std::string& name, const std::string& text);
Result<void> removeSpec(Client& link, const std::string& name);

}  // namespace divvy::helper
