// The clusters of a scenario as engines: who gets which card. Private.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "simulator/scenario.h"

namespace divvy::simulator {

class DayClusters {
 public:
  // overcommit 0: nobody shares.
  static Result<DayClusters> of(const Scenario& scenario, std::uint32_t overcommit,
                                std::uint64_t seed, const engine::UsageByHourPolicy& daily);

  std::size_t cards() const { return cluster_of_.size(); }
  std::size_t clusterOf(std::size_t card) const { return cluster_of_[card]; }

  // A card for it in the cheapest cluster that has one; none: nowhere now.
  Result<std::optional<std::size_t>> place(std::size_t pod, const DayWorkload& workload);
  void release(std::size_t pod, std::size_t card);
  // Who has to end so that it fits: the fewest lost of those that are less urgent. Empty: nobody's
  // end helps.
  Result<std::vector<std::size_t>> victims(std::size_t pod, const DayWorkload& workload,
                                           const engine::EvictionCosts& costs) const;

 private:
  engine::Request requestOf(std::size_t pod, const DayWorkload& workload) const;
  Result<void> addNodes(const Scenario& scenario, std::size_t cluster);

  std::uint32_t overcommit_ = 0;
  std::map<std::string, engine::UsageByHour> daily_;  // by workload; empty: they do not count
  std::vector<engine::Engine> engines_;               // as Scenario::clusters
  std::vector<Bytes> memory_;                         // of a card, likewise
  std::vector<std::size_t> by_price_;
  std::vector<std::size_t> cluster_of_;  // by card
  std::map<engine::DeviceUuid, std::size_t> card_of_;
};

}  // namespace divvy::simulator
