#include "engine.h"

#include <time.h>

#include <chrono>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/replicas.h"
#include "engine_load.h"
#include "samples.h"

namespace divvy::bench {
namespace {

using namespace divvy::engine;

constexpr unsigned kWarmUp = 20'000;
constexpr unsigned kNewKinds = 100;
constexpr Instant kNever{INT64_MAX};
constexpr double kMinPerSecond = 20'000;
constexpr double kMaxP99 = 0.25;
constexpr double kMaxP999 = 1;
constexpr double kMaxRebuild = 2;
constexpr double kMaxReplicasMs = 300;
constexpr double kMaxHostile = 50;
constexpr double kMaxHostileGang = 2 * kMaxHostile;  // it has the tries of two decisions

// This thread's, so that others on the machine do not count.
double processorMs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

double wallMs() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Timed {
  Samples decisions;  // processor ms of each
  Samples walls;
  double total_ms = 0;  // of all of it, giving back included
  unsigned refused = 0;
};

// One request after the other; when the cluster is full somebody ends before the next comes.
Timed timed(EngineLoad& load, unsigned decisions, double full) {
  Timed result;
  const double began = processorMs();
  for (unsigned i = 0; i < decisions; ++i) {
    while (load.fuller(full)) load.endOne();
    const Request request = load.next();
    const double wall = wallMs();
    const double before = processorMs();
    const bool placed = load.engine().place(request, kNever).has_value();
    result.decisions.push_back(processorMs() - before);
    result.walls.push_back(wallMs() - wall);
    if (placed) {
      load.given(request.id);
    } else {
      ++result.refused;
      load.endOne();
    }
  }
  result.total_ms = processorMs() - began;
  return result;
}

void measureSize(unsigned nodes, Policy policy, const std::string& group, const EnginePlan& plan,
                 bool barred, Report& report) {
  EngineLoad load(nodes, policy);
  load.fillTo(plan.full);
  timed(load, std::min(kWarmUp, plan.decisions), plan.full);
  const Timed seen = timed(load, plan.decisions, plan.full);
  const auto add = [&](const std::string& key, double value, std::optional<double> bar,
                       bool at_least = false) {
    report.figures.push_back({group, key, value, {}, {}, barred ? bar : std::nullopt, at_least});
  };
  const double deciding = std::accumulate(seen.decisions.begin(), seen.decisions.end(), 0.0);
  add("decisions_per_s", 1e3 * plan.decisions / deciding, kMinPerSecond, true);
  add("with_ends_per_s", 1e3 * plan.decisions / seen.total_ms, {});
  add("p50_ms", percentile(seen.decisions, 0.5), {});
  add("p99_ms", percentile(seen.decisions, 0.99), kMaxP99);
  add("p999_ms", percentile(seen.decisions, 0.999), kMaxP999);
  add("largest_ms", largest(seen.decisions), {});
  add("wall_p99_ms", percentile(seen.walls, 0.99), {});
  add("wall_p999_ms", percentile(seen.walls, 0.999), {});
  add("refused_pct", 100.0 * seen.refused / plan.decisions, {});
  Samples cold;
  for (unsigned i = 0; i < kNewKinds; ++i) {
    const Request request = load.never();
    const double before = processorMs();
    if (!load.engine().decide(request)) throw std::runtime_error("a new kind was not understood");
    cold.push_back(processorMs() - before);
  }
  add("new_kind_ms", median(cold), {});
}

// How many more of each of 64 shapes fit in 1,000 nodes: first, and after 100 allocations changed.
void measureReplicas(const EnginePlan& plan, Report& report) {
  constexpr unsigned kShapes = 64, kChanges = 100, kRounds = 10;
  EngineLoad load(1'000, Policy::kDivvy);
  load.fillTo(plan.full * 0.9);
  std::vector<Request> shapes;
  for (unsigned i = 0; i < kShapes; ++i) shapes.push_back(load.next());
  const ReplicaCounter counter(load.engine());
  const auto count = [&] {
    std::uint64_t fit = 0;
    const double before = processorMs();
    for (const Request& shape : shapes) {
      Result<ReplicaCount> one = counter.count(shape);
      while (one && one->unknown_nodes > 0) one = counter.count(shape);
      if (!one) throw std::runtime_error(one.error().message());
      fit += one->fit;
    }
    return std::pair(processorMs() - before, fit);
  };
  const auto [first_ms, fit] = count();
  Samples after;
  for (unsigned round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < kChanges; ++i) {
      load.endOne();
      const Request request = load.next();
      if (load.engine().place(request, kNever)) load.given(request.id);
    }
    after.push_back(count().first);
  }
  report.figures.push_back({"replicas", "first_ms", first_ms, {}, {}, kMaxReplicasMs});
  report.figures.push_back({"replicas", "after_100_changes_ms", median(after), {}, {}, {}});
  report.figures.push_back({"replicas", "fit", static_cast<double>(fit), {}, {}, {}});
}

// Requests that share cards, so that there is room for that many of them.
void measureRebuild(const EnginePlan& plan, Report& report) {
  EngineLoad load(5'000, Policy::kDivvy);
  std::size_t placed = 0;
  while (placed < plan.rebuilt) {
    Request request = load.next();
    Container& one = request.shape.containers[0];
    one.devices.count = 1;
    one.devices.compute.milli = 100 + one.devices.compute.milli % 400;
    one.cpu.milli = 1'000;
    one.memory = gib(1);
    request.shape.selector.models.clear();
    placed += load.engine().place(request, kNever) ? 1 : 0;
  }
  const std::vector<Allocation> log = load.engine().allocations();
  const double before = processorMs();
  Engine rebuilt(Config{Policy::kDivvy, 1});
  bool good = true;
  for (const Node& node : load.nodes()) good = rebuilt.setNode(node).has_value() && good;
  good = rebuilt.setTarget(load.target()).has_value() && good;
  for (const Allocation& one : log) good = rebuilt.adopt(one).has_value() && good;
  const double seconds = (processorMs() - before) / 1e3;
  const Request asked = load.next();
  const Result<Decision> ours = rebuilt.decide(asked);
  const Result<Decision> theirs = load.engine().decide(asked);
  if (!good || rebuilt.allocations() != log || !ours || !theirs ||
      ours->placement != theirs->placement) {
    throw std::runtime_error("what was rebuilt is not what was there");
  }
  report.figures.push_back({"rebuild", "seconds", seconds, {}, {}, kMaxRebuild});
  report.figures.push_back({"rebuild", "allocations", static_cast<double>(log.size()), {}, {}, {}});
}

constexpr unsigned kHostileNodes = 1'000, kHostileShares = 24;

// Nodes that all differ.
Engine hostileCluster() {
  Engine engine(Config{Policy::kDivvy, 1});
  for (unsigned n = 0; n < kHostileNodes; ++n) {
    Node node;
    node.name = NodeName("n" + std::to_string(n));
    for (unsigned i = 0; i < 8; ++i) {
      Device device;
      device.uuid = DeviceUuid(node.name.text + '-' + std::to_string(i));
      device.model = ModelName("H100");
      device.memory = mib(79'000 + n % 100 + i * 131);
      device.compute = kWholeDevice;
      device.slots = 10 + n / 100;
      node.devices.push_back(std::move(device));
    }
    if (!engine.setNode(node)) throw std::runtime_error("a node was not understood");
  }
  return engine;
}

// 24 shares: their sum fits each node, and no arrangement of them does.
Request hostileRequest(const std::string& id) {
  Request request;
  request.id = RequestId(id);
  for (unsigned i = 0; i < kHostileShares; ++i) {
    request.shape.containers.emplace_back();
    DeviceRequest& ask = request.shape.containers.back().devices;
    ask.count = 1;
    ask.compute = {1};
    ask.memory = mib(26'000 + (i * 37) % 1'000);
  }
  return request;
}

// `asks`: true where no way was found.
void timeHostile(const std::string& group, double bar, const std::function<bool()>& asks,
                 Report& report) {
  constexpr unsigned kAsked = 50;
  Samples asked;
  for (unsigned i = 0; i < kAsked; ++i) {
    const double before = processorMs();
    const bool none = asks();
    asked.push_back(processorMs() - before);
    if (!none) throw std::runtime_error(group + ": no way was to be found");
  }
  report.figures.push_back({group, "largest_ms", largest(asked), {}, {}, bar});
  report.figures.push_back({group, "p50_ms", percentile(asked, 0.5), {}, {}, {}});
}

// Two tenants on each device, of low priority: a search for victims may take any of them.
EvictionCosts fillWithVictims(Engine* engine) {
  EvictionCosts costs;
  for (unsigned n = 0; n < kHostileNodes; ++n) {
    for (unsigned i = 0; i < 16; ++i) {
      Request one = hostileRequest("v" + std::to_string(n) + '-' + std::to_string(i));
      one.shape.containers.resize(1);
      one.shape.containers[0].devices.memory = mib(30'000 + (n * 16 + i) % 97);
      if (!engine->place(one, kNever)) throw std::runtime_error("a victim did not fit");
      costs.of[one.id] = {static_cast<std::int64_t>(i % 7), 1 + i, "", ""};
    }
  }
  return costs;
}

void measureHostile(Report& report) {
  constexpr unsigned kMembers = 8;
  Engine engine = hostileCluster();
  const Request request = hostileRequest("hostile");
  Gang gang;
  for (unsigned i = 0; i < kMembers; ++i)
    gang.members.push_back(hostileRequest("member-" + std::to_string(i)));
  timeHostile(
      "hostile/1000x8", kMaxHostile,
      [&] {
        const Result<Decision> decision = engine.decide(request);
        return decision && !decision->fits();
      },
      report);
  timeHostile(
      "hostile-gang/1000x8", kMaxHostileGang, [&] { return !engine.placeGang(gang, kNever); },
      report);
  const EvictionCosts costs = fillWithVictims(&engine);
  timeHostile(
      "hostile-victims/1000x8", kMaxHostileGang,
      [&] {
        const auto found = engine.preempt(request, 100, costs);
        return found && !*found;
      },
      report);
  timeHostile(
      "hostile-gang-victims/1000x8", kMaxHostileGang,
      [&] {
        const auto found = engine.preemptGang(gang, 100, costs);
        return found && !*found;
      },
      report);
}

}  // namespace

Report measureEngine(const EnginePlan& plan, const std::function<void(const std::string&)>& say) {
  Report report;
  report.date = today();
  report.host = hostName();
  report.driver = "placement engine, one thread, processor time";
  for (const unsigned nodes : {5'000u, 10'000u}) {
    const std::string group = std::to_string(nodes) + "x8";
    say(group);
    measureSize(nodes, Policy::kDivvy, group, plan, nodes == 5'000, report);
  }
  say("5000x8 by fgd");
  measureSize(5'000, Policy::kFgd, "fgd/5000x8", plan, false, report);
  say("hostile");
  measureHostile(report);
  say("rebuild");
  measureRebuild(plan, report);
  say("replicas");
  measureReplicas(plan, report);
  report.notes =
      "Requests of the openb trace at 90 % of the compute; each decision books, and brings up to\n"
      "date what other kinds of requests know of that node. with_ends_per_s: and for each one of "
      "them\n"
      "somebody else ends, which is counted too. Processor time of the one thread; wall_* is not.\n"
      "new_kind_ms: the first decision for a kind that was never asked for.\n"
      "hostile: one question about a pod of 24 shares that nearly fit, on nodes that all differ;\n"
      "about a gang of 8 such pods; about victims of either among 16,000 tenants. Gangs and "
      "victims\n"
      "have the tries of two decisions.\n"
      "replicas: how many more of each of 64 shapes fit in 1,000 nodes of 8 devices.\n";
  return report;
}

}  // namespace divvy::bench
