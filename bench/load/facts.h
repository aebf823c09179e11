// What a load tells about itself at its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "judge.h"

namespace divvy::bench {

struct Answer {
  CardTime arrived;   // as scheduled, by a clock that stands still while the machine does
  CardTime launched;  // before its first launch
  CardTime done;
};

struct LoadFacts {
  CardTime begin = 0;   // when all parties had met
  CardTime end = 0;     // when it stopped launching; batch, service: when it had read all back
  CardTime worked = 0;  // batch, service: when the last work had ended
  std::uint64_t mismatched = 0;  // bytes of memory that were not what they must be
  std::uint64_t read_bytes = 0;  // of memory, read back to see that
  std::uint64_t launches = 0;
  std::vector<CardTime> resumed;  // duty: before the first launch of each active phase
  std::vector<CardTime> rested;   // duty: when the last work of each active phase had ended
  std::vector<Answer> answers;    // latency; service: the first of each activity
  std::map<std::string, double> thread_ms;  // processor time between begin and end, by thread name
};

// Processor time of every thread of this process so far, milliseconds, added up by name.
std::map<std::string, double> threadTimes();

// One line of JSON with the process's pid.
std::string json(const LoadFacts& facts);

}  // namespace divvy::bench
