// What a container is given by its plugin's answer, and what a program finds that goes there: in
// its pod's control group, with the mounts and variables of the answer.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assigned_pod.h"
#include "ledger/registration.h"

namespace divvy::test {

// What is wrong with the answer's mounts and variables; empty: they are those of
// docs/operations/node-agent.md, and all is there.
std::string unfit(const Allocated& given);

// What is wrong with what it saw (ContainerProbe::look); empty: that is what the scheduler gave.
std::string amiss(const std::vector<std::string>& seen, const ExpectedShare& portion);

// One program that goes from container to container. One thread at a time.
class ContainerProbe {
 public:
  ContainerProbe();
  ~ContainerProbe();
  ContainerProbe(const ContainerProbe&) = delete;
  ContainerProbe& operator=(const ContainerProbe&) = delete;

  // Whether control groups can be made, and mounts: by root, where nothing forbids it. Else nobody
  // is there to ask.
  bool joins() const { return joins_; }
  bool mounts() const { return mounts_; }

  // What the agent answers a process of that pod that says it is one of the share which is mounted
  // there. Asks until it is answered; none: it is not. joins() first.
  std::optional<ledger::RegisterStatus> enroll(const std::string& uid, const Allocated& given);
  // What a program sees of its devices there, by CUDA and by NVML, a line each
  // (container_probe_program.c). mounts() first.
  std::vector<std::string> look(const std::string& uid, const Allocated& given);
  // Of a pod that is over.
  void forget(const std::string& uid);

 private:
  std::string procsOf(const std::string& uid);
  std::vector<std::string> ask(const std::vector<std::string>& words);
  bool made(const std::string& base);

  std::string root_;  // of our groups; empty: none
  std::set<std::string> groups_;
  pid_t pid_ = -1;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
  bool joins_ = false;
  bool mounts_ = false;
};

}  // namespace divvy::test
