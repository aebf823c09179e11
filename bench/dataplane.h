// What Divvy adds to the calls of a program: the data-plane bench.
#pragma once

#include <functional>
#include <string>

#include "report.h"

namespace divvy::bench {

struct DataplanePlan {
  bool real = false;  // this machine's driver and card instead of the simulated ones
  int rounds = 5;     // bare and divvied runs alternate this often
  int batches = 21;   // per run
  int operations = 20'000;
};

// Runs everything, one line to `say` before each step. Throws std::runtime_error when something
// could not be measured.
Report measureDataplane(const DataplanePlan& plan,
                        const std::function<void(const std::string&)>& say);

}  // namespace divvy::bench
