// `divvy simulate openb`: files in, a table and JSON out.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "commands.h"
#include "simulator/runs.h"
#include "table.h"
#include "terminal.h"

namespace divvy::cli {
namespace {

using simulator::Outcome;
using simulator::Runs;

constexpr std::uintmax_t kMostBytes = 1u << 30;
constexpr std::size_t kBarCells = 30;

Error ioError(const std::string& doing, const std::string& path) {
  return {ErrorCode::kIo, doing + " " + path + ": " + std::strerror(errno)};
}

Result<std::string> readFile(const std::string& path) {
  std::error_code fault;
  if (std::filesystem::is_directory(path, fault)) {
    return Error{ErrorCode::kUsage, path + " is a directory; accepted: a CSV file"};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return ioError("reading", path);
  std::string text;
  std::array<char, 1 << 16> part;
  while (file.read(part.data(), part.size()) || file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMostBytes) {
      return Error{ErrorCode::kUsage, path + " is larger than " + formatBytes({kMostBytes}) +
                                          "; accepted: at most that"};
    }
  }
  if (file.bad()) return ioError("reading", path);
  return text;
}

// "openb_pod_list_default.csv" is the workload "default".
std::string workloadOf(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  const std::string prefix = "openb_pod_list_";
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  return name;
}

Result<Runs> load(const OpenbOptions& options) {
  Runs runs;
  const Result<std::string> nodes = readFile(options.nodes);
  if (!nodes) return nodes.error();
  auto parsed = simulator::parseOpenbNodes(*nodes, options.nodes);
  if (!parsed) return parsed.error();
  runs.nodes = *std::move(parsed);
  std::set<std::string> names;
  for (const std::string& path : options.pods) {
    const std::string name = workloadOf(path);
    if (!names.insert(name).second) {
      return Error{ErrorCode::kUsage,
                   "--pods: two files are called \"" + name + "\"; accepted: different names"};
    }
    const Result<std::string> text = readFile(path);
    if (!text) return text.error();
    auto pods = simulator::parseOpenbPods(*text, path);
    if (!pods) return pods.error();
    runs.workloads.push_back({name, *std::move(pods)});
  }
  runs.policies = options.policies;
  for (unsigned i = 0; i < options.seeds; ++i) runs.seeds.push_back(options.first_seed + i);
  runs.tune = options.tune;
  runs.sample_percent = options.sample_percent;
  return runs;
}

// One line on the terminal, drawn anew; nothing where there is none.
class Bar {
 public:
  Bar() : shown_(isatty(STDERR_FILENO) == 1), began_(std::chrono::steady_clock::now()) {}
  ~Bar() {
    if (shown_ && drawn_) std::fputs("\r\x1b[K", stderr);
  }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  void draw(std::size_t done, std::size_t all) {
    if (!shown_) return;
    drawn_ = true;
    const std::size_t cells = all == 0 ? 0 : kBarCells * done / all;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    std::string left;
    if (done > 0 && done < all) {
      const double more = seconds * static_cast<double>(all - done) / static_cast<double>(done);
      left = ", " + ageWord(static_cast<std::int64_t>(more) + 1) + " left";
    }
    std::fprintf(stderr, "\r\x1b[K[%s%s] %zu of %zu runs%s", std::string(cells, '#').c_str(),
                 std::string(kBarCells - cells, '.').c_str(), done, all, left.c_str());
    std::fflush(stderr);
  }

 private:
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point began_;
};

std::string fixed(double value, int decimals = 2) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

void print(const std::vector<Outcome>& outcomes) {
  Table table(
      {"WORKLOAD", "POLICY", "ALLOC@100>", "SD>", "FRAG@50>", "FRAG@100>", "PODS>", "FAILED>"});
  for (const Outcome& one : outcomes) {
    table.add({one.workload, std::string(nameOf(one.policy)), fixed(one.mean) + "%", fixed(one.sd),
               fixed(one.course.fragment_ratio[50]) + "%",
               fixed(one.course.fragment_ratio[100]) + "%", fixed(one.pods, 0),
               fixed(one.failed_gpus, 0)});
  }
  std::fputs(table.text(true, outputWidth()).c_str(), stdout);
}

Result<void> checkWritable(const std::string& path) {
  const std::string fresh = path + ".new";
  errno = 0;
  if (!std::ofstream(fresh, std::ios::binary | std::ios::app)) return ioError("writing", path);
  std::remove(fresh.c_str());
  return {};
}

// All of it or what was there before.
Result<void> writeFile(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  errno = 0;
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0) {
    const Error error = ioError("writing", path);
    std::remove(fresh.c_str());
    return error;
  }
  return {};
}

}  // namespace

int simulateOpenb(const OpenbOptions& options) {
  const Result<Runs> runs = load(options);
  if (!runs) return fail(runs.error());
  // Said before the work, not after it.
  const Result<void> writable = options.json.empty() ? Result<void>() : checkWritable(options.json);
  if (!writable) return fail(writable.error());
  const unsigned jobs =
      options.jobs != 0 ? options.jobs : std::max(std::thread::hardware_concurrency(), 1u);
  Result<std::vector<Outcome>> outcomes = std::vector<Outcome>{};
  {
    Bar bar;
    outcomes = simulator::runAll(*runs, jobs,
                                 [&](std::size_t done, std::size_t all) { bar.draw(done, all); });
  }
  if (!outcomes) return fail(outcomes.error());
  print(*outcomes);
  if (options.json.empty()) return 0;
  const Result<void> written = writeFile(options.json, simulator::json(*runs, *outcomes));
  return written ? 0 : fail(written.error());
}

}  // namespace divvy::cli
