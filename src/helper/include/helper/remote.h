// Interfaces to the node that an agent without privileges uses through its helper.
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

// Time limit of an agent's request.
inline constexpr std::chrono::milliseconds kPatience{2000};
// Time limit of a request for a connection's peer, which each connection of a tenant causes.
inline constexpr std::chrono::milliseconds kPeerPatience{500};

// The node's processes. The helper opens `/proc`, and the agent reads it with its own privileges.
// It reads only those files of other users' processes that every user may read.
class RemoteProcesses final : public Processes {
 public:
  // kUnavailable: the helper does not run, or has another version. kUnsupported: it does not see
  // the agent, which is in another PID namespace.
  static Result<std::unique_ptr<RemoteProcesses>> make(std::shared_ptr<Client> link);

  std::string folder() const override;
  Fd open(int pid) const override;
  // Each thread has a connection of its own, so that no request waits for another thread's reply.
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

// The kubelet's folders. While the helper is away, the last known state of files counts.
class RemoteKubeletDirs final : public kubelet::KubeletDirs {
 public:
  RemoteKubeletDirs(std::shared_ptr<Client> link, std::string kubelet_dir);

  std::string pathOf(std::string_view name) const override { return names_.pathOf(name); }
  std::string pathOf(kubelet::Api api) const override { return names_.pathOf(api); }
  kubelet::FileId fileIdOf(const std::string& name) override;
  bool isListenedTo(const std::string& name) override;
  Result<Fd> listen(const std::string& name) override;
  void remove(const std::string& name) override;
  Result<Fd> dial(kubelet::Api api) override;
  Result<Fd> watch() override;
  Result<Fd> checkpoint() override;

 private:
  const std::shared_ptr<Client> link_;
  const kubelet::LocalKubeletDirs names_;  // paths only
  std::mutex mutex_;                       // guards the two members below
  std::map<std::string, kubelet::FileId> seen_;
  std::map<std::string, bool> listened_;
};

// Processes that use a device. While the helper is away, the last known ones are returned.
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

// Shares the agent's directories again, including files that an agent running as root created
// since.
Result<void> shareDirsAgain(Client& link);

// Write and remove a CDI spec in the runtime's folder; the agent reads that folder itself. `name`
// is one that isSpecName() accepts. kUsage: it is not.
Result<void> writeSpec(Client& link, const std::string& name, const std::string& text);
Result<void> removeSpec(Client& link, const std::string& name);

}  // namespace divvy::helper
