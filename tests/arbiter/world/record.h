// What tenants got on a card over time, and how far that is from what they were to get.
#pragma once

#include <vector>

#include "world.h"

namespace divvy::arbiter::world {

// Cumulative device time of some tenants, sampled at even intervals.
class Record {
 public:
  Record(World* world, std::vector<unsigned> tenants, Nanos every = 5 * kMillisecond,
         unsigned device = 0)
      : world_(*world), tenants_(std::move(tenants)), every_(every), device_(device) {}

  // Lets the world run, and samples; may be called again to go on.
  void runFor(Nanos time);

  // Of all that the tenants got, over the whole record.
  double share(unsigned index) const;
  // Over the whole record, of wall time: all of them.
  double total() const;
  // Largest distance, over all windows of any length, between what the tenant got in the window and
  // its `part` of what all got in it.
  Nanos lag(unsigned index, double part) const;
  // Worst error of the share over all windows of this length, in percent points.
  double error(unsigned index, double part, Nanos window) const;
  // Most that the tenant got of wall time in any window of this length, in percent.
  double most(unsigned index, Nanos window) const;
  double least(unsigned index, Nanos window) const;

 private:
  World& world_;
  std::vector<unsigned> tenants_;
  Nanos every_;
  unsigned device_;
  std::vector<std::vector<Nanos>> samples_;  // per tenant
  std::vector<Nanos> all_;
};

}  // namespace divvy::arbiter::world
