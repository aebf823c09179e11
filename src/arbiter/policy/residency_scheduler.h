// Who is given the devices' memory next, and from whom it is taken. See README.md.
#pragma once

#include <vector>

#include "policy/residency_accounts.h"

namespace divvy::arbiter {

class ResidencyScheduler {
 public:
  explicit ResidencyScheduler(ResidencyAccounts* book) : book_(*book) {}

  // Notes who has arrived, and plans for all that wait.
  void turn(DeadlineSet* agenda);
  // When the turn of somebody ends, as far as can be told; 0: it has none.
  Nanos turnEnd(const Resident& resident) const;

 private:
  struct Take {
    Resident* from;
    unsigned device;
    std::uint64_t bytes;
    bool park = false;  // with all that it has, everywhere
  };
  // What serving somebody takes.
  struct ResidencyDemand {
    Resident* who;
    bool floor_only;  // no more than what is guaranteed, from anybody
    Nanos swap = 0;
    double loss = 0;
    std::uint64_t in = 0;   // bytes that have to be copied to the devices
    std::uint64_t out = 0;  // and that others have to give
    std::vector<Take> takes;
  };
  // Who gives first. kNotNow: it does not.
  enum class Rank { kIdle, kBelow, kTurnOver, kBehind, kGuaranteed, kNotNow };

  void arrive();
  // True: somebody turned out to be stuck in its turn; the order of the line is another.
  bool serveLine();
  bool serve(Resident* resident, bool past);
  bool collect(ResidencyDemand* demand);
  bool collectOn(ResidencyDemand* demand, unsigned device);
  // Of what swapping does not free, from those who can be parked.
  bool collectParked(ResidencyDemand* demand, unsigned device, std::int64_t missing,
                     std::int64_t host);
  // What others could give without being parked.
  std::uint64_t sparesFor(const ResidencyDemand& demand, unsigned device) const;
  void estimate(ResidencyDemand* demand);
  void apply(const ResidencyDemand& demand, bool past);
  Rank rankOf(const Resident& from, const ResidencyDemand& demand);
  bool turnOver(const Resident& holder, const ResidencyDemand& demand);
  std::int64_t shortOf(const ResidencyDemand& demand, unsigned device) const;
  double ratio(unsigned device, bool* latency) const;
  double partOf(const Resident& holder) const;
  void noteThrash();

  ResidencyAccounts& book_;
  DeadlineSet* agenda_ = nullptr;
  std::uint64_t grants_ = 0;
  std::vector<Resident*> line_;
};

}  // namespace divvy::arbiter
