// A cluster in which pods wait at our gate: what an API server would keep, and a scheduler that can
// be killed between any two writes. Written without our gatekeeper.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gatehouse.h"
#include "queues.h"
#include "world.h"

namespace divvy::scheduler {

inline constexpr engine::Instant kMuchLater{120'000};

// `devices` whole cards of 80 GiB, of that model.
kube::Node cardsOn(const std::string& name, unsigned devices,
                   const std::string& model = "NVIDIA H100");
// Wants one of them; at the gate.
kube::Pod gatedPod(const std::string& name, const Texts& annotations = {});
kube::Pod memberOf(const std::string& gang, unsigned least, const std::string& name);
kube::Queue queueOf(const std::string& name, std::optional<std::int64_t> guarantee,
                    std::optional<std::int64_t> limit, const std::string& parent = "");

// What is written, whoever lives.
struct Store {
  std::vector<kube::Node> nodes;
  std::vector<kube::Queue> queues;
  std::map<std::string, kube::Pod> pods;  // by UID

  void add(const kube::Pod& pod) { pods[pod.meta.uid] = pod; }
  std::size_t bound(const std::string& prefix) const;
  std::size_t gated(const std::string& prefix) const;
};

// One life of a scheduler: all that it knows it has read.
class Life {
 public:
  explicit Life(Store& store);

  // Each is one write, or none where there is nothing to do: true if there was one.
  bool openOne();
  bool bindOne();
  // Both, until nothing happens.
  void run();
  void hear(const std::string& uid);
  void forget(const std::string& uid);
  std::string why(const std::string& uid) const;

  Store& store;
  Books books;
  Queues queues;
  Gatehouse house;

 private:
  std::vector<Opening> openings_;
};

}  // namespace divvy::scheduler
