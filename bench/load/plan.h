// What a load does, from its command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace divvy::bench {

// All durations are of the card's time.
struct LoadPlan {
  std::string kind;       // steady, graph, gaps, duty, latency, batch, service
  double unit_us = 1000;  // one kernel; graph: all of its kernels
  double gap_us = 0;      // gaps: the host's own time between a kernel's end and the next launch
  int streams = 1;        // steady: launches go round them
  // latency: until the last request is answered, whatever this says; batch: of work
  double seconds = 1;
  double on_s = 2;          // duty, service
  double off_s = 2;         // duty, service
  double start_s = 0;       // service: when its first activity begins
  double memory_mib = 64;   // batch, service
  double block_mib = 16;    // batch, service: of one allocation
  double per_second = 100;  // latency: arrivals
  std::size_t count = 100;  // latency: how many
  std::size_t first = 0;    // latency: the number of the first one in the seed's list
  std::uint64_t seed = 1;
  int launches = 10;          // latency: per request, each of unit_us; graph: kernels
  int speed_permille = 1000;  // of the card's clock against CLOCK_MONOTONIC
  std::string barrier;        // file that holds a Barrier; empty: nobody to wait for
  int parties = 1;
  std::string stalls;  // file that holds a StallPage; empty: time never stands still
  std::string spans;   // real card: file for the intervals that its kernels stamped
};

// False when the command line is not understood.
bool parsePlan(int argc, char** argv, LoadPlan* plan);

}  // namespace divvy::bench
