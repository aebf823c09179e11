// The calls whose cost is measured, one at a time.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string_view>

namespace divvy::bench {

// One batch: `for (auto _ : state)` over the call, errors reported with SkipWithError.
using Batch = std::function<void(benchmark::State&)>;

// `prepare` runs once in a process that has a context, and returns what repeats.
struct Call {
  std::string_view name;
  Batch (*prepare)();
};

// launch, alloc_free, alloc_free_10k_live, mem_info, untouched, untouched_lookup; nullptr for any
// other name.
const Call* findCall(std::string_view name);

}  // namespace divvy::bench
