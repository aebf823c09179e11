// Where the agent asks the driver: on a thread of its own, because a call may never come back.
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

// Longer than a driver without persistence mode takes to wake its card.
inline constexpr std::chrono::milliseconds kDriverPatience{3000};

// By NVML index.
using DriverTimes = std::map<unsigned, std::vector<driver::ProcessTime>>;
using DriverProcesses = std::map<unsigned, std::vector<driver::ProcessUse>>;

// What the driver says of whether devices can be used.
struct DriverHealth {
  std::vector<driver::DeviceFault> faults;
  std::map<unsigned, bool> answers;  // by NVML index, of those that were asked for
  std::map<unsigned, driver::MemoryErrors> errors = {};  // likewise, as the driver remembers them
};

// One thread asks, one question at a time. Whoever asks waits at most `patience`; while a call has
// not come back, every further question fails at once, and when it comes back the driver is asked
// again.
class DriverWorker {
 public:
  explicit DriverWorker(driver::Nvml nvml, std::chrono::milliseconds patience = kDriverPatience);
  // Does not wait: a call under way keeps what it needs, and its thread ends when it comes back.
  ~DriverWorker();
  DriverWorker(const DriverWorker&) = delete;
  DriverWorker& operator=(const DriverWorker&) = delete;

  const std::string& path() const { return path_; }
  // kUnavailable: the driver refuses, or does not answer.
  Result<driver::DeviceUse> use(unsigned index);
  // Empty where the card cannot tell or the driver does not answer.
  std::vector<driver::ProcessUse> processes(unsigned index);
  // Empty where nothing ran lately, the card cannot tell or the driver does not answer.
  std::vector<driver::ProcessTime> processTimes(unsigned index);

  // Asks who uses all these devices, and for how long, without waiting for it: when the driver has
  // answered what it was asked before.
  void refreshUse(const std::vector<unsigned>& indexes);
  // What the last answer to that was.
  DriverTimes latestTimes() const;
  // Percent, by index; -1: it does not tell.
  std::map<unsigned, int> latestUtilisation() const;
  // Likewise, each answer once.
  std::optional<DriverProcesses> takeProcesses();

  // Likewise of their health; nothing happens while the driver is busy with another question.
  void refreshHealth(const std::vector<unsigned>& indexes);
  // Waits for the answer to the question under way, `patience` at most.
  void settle();
  // What was answered since this was asked last: each fault once. None: nothing was. While a
  // question is not answered for longer than patience lasts, none of `indexes` answers.
  std::optional<DriverHealth> takeHealth(const std::vector<unsigned>& indexes);

 private:
  using Question = std::function<void(const driver::Nvml&)>;
  struct WorkerState;

  void put(Question question);
  static void serve(const std::shared_ptr<WorkerState>& desk);
  // False when it was not answered in time; then the question may still be asked or answered later.
  bool ask(Question question);
  void fellSilent();

  const std::chrono::milliseconds patience_;
  std::string path_;
  std::shared_ptr<WorkerState> desk_;
  bool silent_ = false;  // somebody waited in vain
};

}  // namespace divvy::agent
