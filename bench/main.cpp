// divvy-bench: measures, prints a table against the bars, writes JSON.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>

#include "dataplane.h"

namespace {

constexpr const char* kUsage =
    "usage: divvy-bench [dataplane] [--json FILE] [--quick] [--real] [--check]\n"
    "  --json FILE  also write the figures as JSON\n"
    "  --quick      one round instead of five: shows that it works, not how fast it is\n"
    "  --real       this machine's driver and card instead of the simulated ones\n"
    "  --check      exit status 1 when a bar is missed\n";

struct Options {
  divvy::bench::DataplanePlan plan;
  std::string json;
  bool check = false;
};

// False when the command line is not understood.
bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "dataplane" && i == 1) continue;
    if (word == "--json" && i + 1 < argc) {
      options.json = argv[++i];
    } else if (word == "--quick") {
      options.plan.rounds = 1;
    } else if (word == "--real") {
      options.plan.real = true;
    } else if (word == "--check") {
      options.check = true;
    } else {
      return false;
    }
  }
  return true;
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
  const divvy::bench::Report report = divvy::bench::measureDataplane(
      options.plan,
      [](const std::string& step) { std::fprintf(stderr, "measuring %s\n", step.c_str()); });
  std::fputs(divvy::bench::table(report).c_str(), stdout);
  if (file.is_open()) file << divvy::bench::json(report);
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
