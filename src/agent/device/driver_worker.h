// Runs the agent's driver queries on a thread of their own, because a call may never return.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/nvml.h"

namespace divvy::agent {

// Longer than a driver without persistence mode needs to initialise its device.
inline constexpr std::chrono::milliseconds kDriverPatience{3000};

using DriverTimes = std::map<unsigned, std::vector<driver::ProcessTime>>;
using DriverProcesses = std::map<unsigned, std::vector<driver::ProcessUse>>;

// The driver's report on the health of devices.
struct DriverHealth {
  std::vector<driver::DeviceFault> faults;
  std::map<unsigned, bool> answers;                      // by NVML index, of the queried devices
  std::map<unsigned, driver::MemoryErrors> errors = {};  // counts of the driver, by NVML index
};

// One thread makes one query at a time. A caller waits at most `patience`. While a call has not
// returned, further queries fail at once; when it has returned, the driver is queried again. Called
// from one thread.
class DriverWorker {
 public:
  explicit DriverWorker(driver::Nvml nvml, std::chrono::milliseconds patience = kDriverPatience);
  // Does not block: a call under way keeps its own state, and its thread ends when the call
  // returns.
  ~DriverWorker();
  DriverWorker(const DriverWorker&) = delete;
  DriverWorker& operator=(const DriverWorker&) = delete;

  const std::string& path() const { return path_; }
  // kUnavailable: the driver refuses, or does not answer.
  Result<driver::DeviceUse> use(unsigned index);
  // Empty if the device does not report it or the driver does not answer.
  std::vector<driver::ProcessUse> processes(unsigned index);
  // Empty if nothing ran lately, the device does not report it or the driver does not answer.
  std::vector<driver::ProcessTime> processTimes(unsigned index);

  // Queues a query for the processes of these devices and their use of time. Does not block: the
  // query runs after the current one.
  void refreshUse(const std::vector<unsigned>& indexes);
  // Returns the latest answer to refreshUse().
  DriverTimes latestTimes() const;
  // In percent, by index; -1: not reported.
  std::map<unsigned, int> latestUtilisation() const;
  // Returns the latest processes; each answer once.
  std::optional<DriverProcesses> takeProcesses();

  // Queues a query for health. Does nothing while another query is under way.
  void refreshHealth(const std::vector<unsigned>& indexes);
  // Waits for the query under way, `patience` at most.
  void settle();
  // Returns the answers since the last call: each fault once. None: no new answer. If a query takes
  // longer than `patience`, no device of `indexes` answers.
  std::optional<DriverHealth> takeHealth(const std::vector<unsigned>& indexes);

 private:
  using Question = std::function<void(const driver::Nvml&)>;
  struct WorkerState;

  void put(Question question);
  static void serve(const std::shared_ptr<WorkerState>& state);
  // Returns false if there is no answer in time. The query may still run later.
  bool ask(Question question);
  void fellSilent();

  const std::chrono::milliseconds patience_;
  std::string path_;
  std::shared_ptr<WorkerState> state_;
  bool silent_ = false;  // a caller waited without a reply
};

}  // namespace divvy::agent
