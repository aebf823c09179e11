#include "moves.h"

#include <time.h>

#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine_load.h"

namespace divvy::bench {
namespace {

using namespace divvy::engine;

constexpr double kFull = 0.95;  // before some end
constexpr double kLeft = 0.6;   // after
constexpr double kMaxSeconds = 10;
constexpr unsigned kPerSwitch = 8;
constexpr unsigned kPerRack = 40;

double processorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Figures {
 public:
  explicit Figures(Report* report) : report_(report) {}
  void add(const std::string& group, const std::string& key, double value,
           std::optional<double> bar = {}) {
    report_->figures.push_back({group, key, value, {}, {}, bar, false});
  }

 private:
  Report* report_;
};

DefragmentationPlan planned(const Engine& engine, DefragmentationGoal goal, std::size_t most) {
  DefragmentationOptions terms;
  terms.goal = goal;
  terms.most_moves = most;
  for (const Allocation& each : engine.allocations()) terms.of[each.id];
  const Result<DefragmentationPlan> plan = engine.defragment(terms);
  if (!plan) throw std::runtime_error(plan.error().message());
  return *plan;
}

void measureGoal(const Engine& engine, DefragmentationGoal goal, const std::string& name,
                 const std::vector<std::size_t>& moves, Figures& figures) {
  for (const std::size_t most : moves) {
    const double before = processorSeconds();
    const DefragmentationPlan plan = planned(engine, goal, most);
    const double seconds = processorSeconds() - before;
    const std::string group = name + "/" + std::to_string(most);
    const auto freed = [](const auto& gained, const auto& lost) {
      return static_cast<double>(gained.size()) - static_cast<double>(lost.size());
    };
    figures.add(group, "moves", static_cast<double>(plan.moves.size()));
    figures.add(group, "devices_freed", freed(plan.freed, plan.taken));
    figures.add(group, "nodes_freed", freed(plan.nodes_freed, plan.nodes_taken));
    figures.add(group, "fragmented_less", (plan.before.fragmented - plan.after.fragmented) / 1000);
    figures.add(group, "seconds", seconds, kMaxSeconds);
  }
}

void measureGangs(const MovesPlan& plan, Figures& figures) {
  EngineLoad load(plan.nodes, Policy::kDivvy);
  for (unsigned i = 0; i < plan.nodes; ++i) {
    Node node = load.nodes()[i];
    node.labels = {{"rack", std::to_string(i / kPerRack)},
                   {"switch", std::to_string(i / kPerSwitch)}};
    if (!load.engine().setNode(node)) throw std::runtime_error("a node was not taken");
  }
  load.fillTo(kFull);
  Rng rng(3);
  EvictionCosts costs;
  for (const Allocation& each : load.engine().allocations())
    costs.of[each.id] = {static_cast<std::int64_t>(rng.below(4)),
                         static_cast<std::int64_t>(rng.below(1000)),
                         {},
                         {}};
  for (const auto& [members, required] :
       std::vector<std::pair<std::size_t, bool>>{{8, false}, {8, true}, {32, false}, {64, false}}) {
    Gang gang;
    for (std::size_t i = 0; i < members; ++i) {
      Request& member = gang.members.emplace_back();
      member.id = RequestId("gang/" + std::to_string(i));
      member.shape.containers.push_back({{4000}, gib(16), {1, Bytes{}, kWholeDevice}});
    }
    gang.levels = {"rack", "switch"};
    if (required) gang.required = 1;
    const double before = processorSeconds();
    const auto found = load.engine().preemptGang(gang, 3, costs);
    const double seconds = processorSeconds() - before;
    const std::string group =
        "gang/" + std::to_string(members) + (required ? " on one switch" : "");
    figures.add(group, "victims",
                found && *found ? static_cast<double>((*found)->victims.size()) : 0);
    figures.add(group, "seconds", seconds, kMaxSeconds);
  }
}

}  // namespace

Report measureMoves(const MovesPlan& plan, const std::function<void(const std::string&)>& say) {
  Report report;
  report.date = today();
  report.host = hostName();
  report.driver = "placement engine, one thread, processor time";
  Figures figures(&report);
  EngineLoad load(plan.nodes, Policy::kDivvy);
  load.fillTo(kFull);
  while (load.fuller(kLeft)) load.endOne();
  std::set<DeviceUuid> busy;
  for (const Allocation& each : load.engine().allocations())
    for (const Charge& charge : each.placement.charges) busy.insert(charge.uuid);
  figures.add("before", "requests", static_cast<double>(load.engine().allocations().size()));
  figures.add("before", "devices_idle", 8.0 * plan.nodes - static_cast<double>(busy.size()));
  figures.add("before", "fragmented", load.engine().usage().fragmented / 1000);
  say("devices");
  measureGoal(load.engine(), DefragmentationGoal::kDevices, "devices", {16, 64, 256, 4096},
              figures);
  say("nodes");
  measureGoal(load.engine(), DefragmentationGoal::kNodes, "nodes", {64, 256, 4096}, figures);
  say("fragmentation");
  measureGoal(load.engine(), DefragmentationGoal::kFragmentation, "fragmentation", {16, 64, 256},
              figures);
  say("gangs");
  measureGangs(plan, figures);
  report.notes =
      "Requests of the openb trace come until 95 % of the compute is given; then some end, by\n"
      "chance, until it is 60 %. Plans of so many moves at most; fragmented: idle devices that\n"
      "requests as they come cannot use. gang: members of one whole device each, at 95 %; 0\n"
      "victims: it fits. Three quarters of the others are of lower priority.\n";
  return report;
}

}  // namespace divvy::bench
