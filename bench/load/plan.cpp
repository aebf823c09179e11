#include "plan.h"

#include <array>
#include <cstdlib>
#include <functional>

namespace divvy::bench {
namespace {

using Setter = std::function<void(const char*)>;

bool known(const std::string& kind) {
  for (const char* one : {"steady", "graph", "gaps", "duty", "latency", "batch", "service"}) {
    if (kind == one) return true;
  }
  return false;
}

template <typename T>
Setter number(T* out) {
  return [out](const char* text) { *out = static_cast<T>(std::atof(text)); };
}

Setter text(std::string* out) {
  return [out](const char* value) { *out = value; };
}

}  // namespace

bool parsePlan(int argc, char** argv, LoadPlan* plan) {
  if (argc < 2 || !known(argv[1])) return false;
  plan->kind = argv[1];
  const std::array<std::pair<const char*, Setter>, 20> options{{
      {"--unit-us", number(&plan->unit_us)},
      {"--gap-us", number(&plan->gap_us)},
      {"--streams", number(&plan->streams)},
      {"--seconds", number(&plan->seconds)},
      {"--on", number(&plan->on_s)},
      {"--off", number(&plan->off_s)},
      {"--start", number(&plan->start_s)},
      {"--memory-mib", number(&plan->memory_mib)},
      {"--block-mib", number(&plan->block_mib)},
      {"--per-second", number(&plan->per_second)},
      {"--count", number(&plan->count)},
      {"--first", number(&plan->first)},
      {"--seed", number(&plan->seed)},
      {"--launches", number(&plan->launches)},
      {"--speed-permille", number(&plan->speed_permille)},
      {"--barrier", text(&plan->barrier)},
      {"--parties", number(&plan->parties)},
      {"--stalls", text(&plan->stalls)},
      {"--spans", text(&plan->spans)},
      {"--mark", [](const char*) {}},  // for people who read process lists
  }};
  for (int i = 2; i + 1 < argc; i += 2) {
    bool found = false;
    for (const auto& [name, set] : options) {
      if (argv[i] != std::string(name)) continue;
      set(argv[i + 1]);
      found = true;
    }
    if (!found) return false;
  }
  return argc % 2 == 0 && plan->unit_us > 0 && plan->streams > 0 && plan->launches > 0 &&
         plan->speed_permille > 0 && plan->per_second > 0 && plan->parties > 0 &&
         plan->block_mib >= 1 && plan->memory_mib >= plan->block_mib;
}

}  // namespace divvy::bench
