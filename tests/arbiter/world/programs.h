// Programs that tenants run.
#pragma once

#include <memory>

#include "process.h"

namespace divvy::arbiter::world {

// Lengths of kernels.
using Lengths = std::function<Nanos(Random&)>;
Lengths fixed(Nanos length);
// Lognormal, cut off at both ends.
Lengths lognormal(Nanos median, double sigma, Nanos least = 50 * kMicrosecond,
                  Nanos most = 20 * kMillisecond);

// Kernels without end, as fast as the gate lets them.
Program endless(Lengths lengths, unsigned device = 0);
// Kernels each of which is waited for, with processor time between them.
Program launchBound(Lengths lengths, Nanos between, unsigned device = 0);
// Endless for `on`, then nothing for `off`, and again.
Program dutyCycled(Lengths lengths, Nanos on, Nanos off, unsigned device = 0);
// The same length on several devices at once, waited for on all: ranks that move in step.
Program ranks(Lengths lengths, std::vector<unsigned> devices);

// Requests that come by a Poisson process whatever happened to those before.
struct Service {
  double per_second = 100;
  unsigned requests = 20'000;
  unsigned launches = 10;
  Nanos time = 2 * kMillisecond;  // of a request, over all launches
  Nanos between = 0;              // processor time between launches, after waiting for each
  std::uint64_t seed = 1;
};
// From the scheduled arrival to the end of the last launch, of each request.
using Latencies = std::shared_ptr<std::vector<Nanos>>;
Program serving(const Service& service, Latencies latencies);

}  // namespace divvy::arbiter::world
