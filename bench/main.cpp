// divvy-bench: measures, prints a table against the bars, writes JSON.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane.h"
#include "engine.h"
#include "moves.h"
#include "oversubscribe.h"
#include "priority.h"
#include "shares.h"
#include "swap.h"

namespace {

using namespace divvy::bench;

constexpr const char* kUsage =
    "usage: divvy-bench [dataplane|shares|priority|swap|oversubscribe|engine|moves] [OPTION]...\n"
    "  dataplane       what Divvy adds to a program's driver calls\n"
    "  shares          how exactly a card's time is shared and capped\n"
    "  priority        how little a latency service notices best-effort work\n"
    "  swap            how fast memory leaves a card and comes back\n"
    "  oversubscribe   what it costs when tenants have more memory than the card\n"
    "  engine          how fast requests are placed in a large cluster\n"
    "  moves           what moving requests wins there, and who would have to end for a gang\n"
    "  --json FILE     also write the figures as JSON\n"
    "  --quick         shows that it works, not how good it is\n"
    "  --real          this machine's driver and card instead of the simulated ones\n"
    "  --check         exit status 1 when a bar is missed\n"
    "  --time-scale N  shares, priority, swap: the simulated card runs N times slower [20, swap: "
    "1]\n"
    "  --cards N       shares, priority: simulated cards side by side [64]\n"
    "  --only A,B      shares, priority: these cases only, as the table names them [all]\n"
    "  --seconds N     shares, priority: of each case, of the card's time [12, 20 to 200]\n";

constexpr int kSlowest = 20;
constexpr int kQuickSlower = 2;
constexpr int kSwapSlower = 4;
constexpr int kMaxSeconds = 600;

struct Options {
  std::string bench = "dataplane";
  std::string json;
  bool quick = false;
  bool real = false;
  bool check = false;
  int slower = 0;  // 0: not said
  int cards = 64;
  int seconds = 0;  // 0: not said
  std::vector<std::string> only;
};

bool parseCount(const char* text, int most, int* out) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  *out = static_cast<int>(value);
  return end != text && *end == 0 && value >= 1 && value <= most;
}

std::vector<std::string> parseNames(const char* text) {
  std::vector<std::string> names;
  std::stringstream stream(text);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

bool isBench(const std::string& word) {
  for (const char* one :
       {"dataplane", "shares", "priority", "swap", "oversubscribe", "engine", "moves"}) {
    if (word == one) return true;
  }
  return false;
}

// False when the command line is not understood.
bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (i == 1 && isBench(word)) {
      options.bench = word;
    } else if (word == "--json" && more) {
      options.json = argv[++i];
    } else if (word == "--time-scale" && more) {
      if (!parseCount(argv[++i], kSlowest, &options.slower)) return false;
    } else if (word == "--cards" && more) {
      if (!parseCount(argv[++i], 1000, &options.cards)) return false;
    } else if (word == "--seconds" && more) {
      if (!parseCount(argv[++i], kMaxSeconds, &options.seconds)) return false;
    } else if (word == "--only" && more) {
      options.only = parseNames(argv[++i]);
    } else if (word == "--quick") {
      options.quick = true;
    } else if (word == "--real") {
      options.real = true;
    } else if (word == "--check") {
      options.check = true;
    } else {
      return false;
    }
  }
  return true;
}

Report measure(const Options& options) {
  const auto say = [](const std::string& step) {
    std::fprintf(stderr, "measuring %s\n", step.c_str());
  };
  if (options.bench == "dataplane") {
    DataplanePlan plan;
    if (options.quick) plan.rounds = 1;
    plan.real = options.real;
    // A real driver takes microseconds for what the simulated one answers at once.
    if (options.real) plan.operations = 500;
    if (options.real && options.quick) plan.batches = 7;
    return measureDataplane(plan, say);
  }
  if (options.bench == "engine") {
    EnginePlan plan;
    if (options.quick) plan = {1'000, 2'000, 0.05};
    return measureEngine(plan, say);
  }
  if (options.bench == "moves") return measureMoves({options.quick ? 100u : 500u}, say);
  CardBenchPlan plan;
  plan.real = options.real;
  plan.quick = options.quick;
  if (options.quick) plan.slower = kQuickSlower;
  if (options.bench == "swap") plan.slower = options.quick ? 1 : kSwapSlower;
  if (options.slower != 0) plan.slower = options.slower;
  plan.cards = static_cast<unsigned>(options.cards);
  plan.seconds = options.seconds;
  plan.only = options.only;
  if (options.bench == "swap") return measureSwap(plan, say);
  if (options.bench == "oversubscribe") return measureOversubscription(plan, say);
  return options.bench == "shares" ? measureShares(plan, say) : measurePriority(plan, say);
}

int run(const Options& options) {
  std::ofstream file;
  if (!options.json.empty()) {
    file.open(options.json);
    if (!file) {
      std::fprintf(stderr, "divvy-bench: cannot write %s\n", options.json.c_str());
      return 1;
    }
  }
  const Report report = measure(options);
  std::fputs(table(report).c_str(), stdout);
  if (file.is_open()) file << json(report);
  return options.check && !report.passed() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "divvy-bench: %s\n", error.what());
    return 1;
  }
}
