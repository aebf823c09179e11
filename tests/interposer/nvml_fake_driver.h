// A node behind the NVML hooks, without any library: every answer can be set, every call counted.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "abi/nvml_types.h"
#include "ledger/tenant_ledger.h"

namespace divvy::interposer::test {

struct FakeProcess {
  unsigned pid;  // in the driver's numbers
  unsigned long long bytes;
};

// A card, or (with a parent) a MIG instance. Its address is its handle.
struct FakeDevice {
  std::string uuid;
  std::string pci;
  std::string serial;
  FakeDevice* parent = nullptr;
  unsigned index = 0;  // among the cards, or among the instances of its parent
  unsigned gpu_instance = 0;
  nvmlReturn_t state = NVML_SUCCESS;  // what every call about it answers
  nvmlMemory_t memory{80ull << 30, 60ull << 30, 20ull << 30};
  std::vector<FakeProcess> compute, graphics, mps;
  std::vector<unsigned> busy;  // pids with a utilisation sample
  std::vector<unsigned> accounted;
  std::vector<unsigned> encoding;

  nvmlDevice_t handle() { return reinterpret_cast<nvmlDevice_t>(this); }
};

// The node that all entries answer from, to any number of threads as NVML does; it is changed while
// none asks. `divvy_nvml_real` is the fake's own table.
struct FakeNode {
  std::vector<FakeDevice*> devices;  // cards in PCI order, instances anywhere
  bool initialised = true;
  std::atomic<unsigned> lookups{0};     // by UUID
  std::function<void()> during_lookup;  // runs in each of those, before it answers

  std::vector<FakeDevice*> cards() const;
};

FakeNode& fakeNode();

// `count` cards "GPU-<index>..." at PCI addresses that grow with the index, added to the node.
void addCards(unsigned count);
FakeDevice& addInstance(FakeDevice& card, const std::string& uuid, unsigned gpu_instance);

// The share of a device, as the agent writes it.
ledger::DeviceSpec shareOf(const FakeDevice& device, Bytes ceiling);

// A tenant directory below a fresh temporary one, removed at the end; DIVVY_TENANT_DIR names it.
class TenantDir {
 public:
  // `node_devices`: how many the node has; 0: not told.
  explicit TenantDir(std::vector<ledger::DeviceSpec> devices, unsigned node_devices = 0);
  ~TenantDir();
  TenantDir(const TenantDir&) = delete;
  TenantDir& operator=(const TenantDir&) = delete;

  ledger::TenantLedger& agent() { return *agent_; }
  const std::string& path() const { return path_; }

 private:
  std::string parent_;
  std::string path_;
  std::unique_ptr<ledger::TenantLedger> agent_;
};

// A child process with a slot of its own that has reserved `bytes` on the tenant's device `dev`,
// and lives until the end of the scope.
class Holder {
 public:
  Holder(const TenantDir& tenant, unsigned dev, Bytes bytes);
  ~Holder();
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  unsigned pid() const { return static_cast<unsigned>(pid_); }
  unsigned slot() const { return slot_; }
  // The agent learns the process' number on the node.
  void adopt(TenantDir& tenant, unsigned host_pid) const;
  // Ends it without a word: the slot stays claimed until the agent finds out.
  void kill();

 private:
  pid_t pid_ = -1;
  unsigned slot_ = 0;
};

// Runs a body in a forked child, because a process asks only once which tenant it belongs to.
// Expectations that fail there fail here.
void inFreshProcess(const std::function<void()>& body);

}  // namespace divvy::interposer::test
