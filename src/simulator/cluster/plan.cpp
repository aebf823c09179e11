#include "simulator/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/rng.h"
#include "cluster/openb_engine.h"
#include "day/side_by_side.h"
#include "engine/engine.h"
#include "simulator/protocol.h"

namespace divvy::simulator {
namespace {

constexpr std::int32_t kWhole = 1000;
constexpr std::uint32_t kMaxCopies = 64;
constexpr engine::Instant kNever{INT64_MAX};
// More than anything that pods ask for adds up to.
constexpr std::int64_t kEndlessCpu = std::int64_t{1} << 40;
constexpr Bytes kEndless = gib(1u << 19);

bool shares(const OpenbPod& pod) {
  return pod.gpus == 1 && pod.gpu_milli < kWhole;
}

// Of what tenants may have of a card, 1000 MiB.
Bytes partOf(std::uint32_t milli) {
  return mib(milli);
}
constexpr Bytes kCard = mib(1024);
constexpr Bytes kMargin = mib(4);  // of it, left to the driver where more is promised than there is

engine::Shape shareShapeOf(const OpenbPod& pod, std::uint32_t overcommit) {
  engine::Shape shape = shapeOf(pod);
  engine::DeviceRequest& ask = shape.containers.front().devices;
  if (pod.gpus == 0) return shape;
  ask.memory = partOf(static_cast<std::uint32_t>(pod.gpu_milli));
  if (!shares(pod)) return shape;
  // Time follows memory, rounded down so that memory alone decides what fits.
  const std::uint32_t promised = std::max<std::uint32_t>(overcommit, kWhole);
  ask.compute.milli = static_cast<std::int32_t>(
      std::max<std::int64_t>(std::int64_t{pod.gpu_milli} * kWhole / promised, 1));
  if (overcommit == 0) ask.compute = engine::kWholeDevice;
  return shape;
}

Result<void> addNodes(engine::Engine& engine, const Plan& plan, std::uint32_t overcommit,
                      std::uint32_t copies) {
  std::uint64_t order = 0;
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    for (OpenbNode described : plan.nodes) {
      // No name of the trace has a blank.
      if (copy > 0) described.name += " " + std::to_string(copy + 1);
      engine::Node node = nodeOf(described, order++);
      node.host_reserve = kEndless;
      if (plan.cards_only) {
        node.cpu = {kEndlessCpu};
        node.memory = kEndless;
      }
      for (engine::Device& device : node.devices) {
        device.memory = kCard;
        device.terms.budget = overcommit > kWhole ? partOf(kWhole) + kMargin : partOf(kWhole);
        device.terms.overcommit_permille = std::max(overcommit, engine::kNoOvercommit);
      }
      Result<void> set = engine.setNode(node);
      if (!set) return set;
    }
  }
  return engine.setTarget(typicalPods(plan.pods));
}

std::vector<std::uint32_t> orderOf(const Plan& plan, std::uint64_t seed) {
  std::vector<std::uint32_t> order(plan.pods.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return plan.pods[a].name < plan.pods[b].name;
  });
  Rng rng(seed);
  rng.shuffle(order);
  return order;
}

// What is in use, counted from what was given.
class Count {
 public:
  explicit Count(const Plan& plan) {
    for (const OpenbNode& node : plan.nodes) gpus_of_[node.name] = node.gpus;
  }
  void add(const engine::Placement& placement, bool sharing) {
    const std::string& node = placement.node.text;
    if (!placement.charges.empty() && nodes_.insert(node).second) {
      row_.node_gpus += gpus_of_[node.substr(0, node.find(' '))];
    }
    for (const engine::Charge& charge : placement.charges) {
      if (!cards_.insert(charge.uuid).second) continue;
      row_.gpus += 1;
      row_.sharing_gpus += sharing ? 1 : 0;
    }
  }
  PlanRow row() const { return row_; }

 private:
  std::map<std::string, std::uint32_t> gpus_of_;
  std::set<std::string> nodes_;
  std::set<engine::DeviceUuid> cards_;
  PlanRow row_;
};

Result<PlanRow> once(const Plan& plan, std::uint32_t overcommit, std::uint64_t seed,
                     std::uint32_t copies) {
  engine::Engine engine({plan.policy, seed});
  const Result<void> ready = addNodes(engine, plan, overcommit, copies);
  if (!ready) return ready.error();
  Count count(plan);
  double unplaced = 0;
  for (const std::uint32_t at : orderOf(plan, seed)) {
    const OpenbPod& pod = plan.pods[at];
    const engine::Request request{engine::RequestId(pod.name), shareShapeOf(pod, overcommit)};
    const Result<engine::Allocation> placed = engine.place(request, kNever);
    if (placed) {
      count.add(placed->placement, shares(pod));
    } else if (placed.error().code() == ErrorCode::kNoRoom) {
      unplaced += 1;
    } else {
      return placed.error();
    }
  }
  PlanRow row = count.row();
  row.unplaced = unplaced;
  return row;
}

// As often as it takes, or as often as it helps: a pod may fit no node at all.
Result<std::uint32_t> copiesFor(const Plan& plan) {
  double before = 0;
  for (std::uint32_t copies = 1;; copies *= 2) {
    const Result<PlanRow> row = once(plan, 0, plan.seeds.front(), copies);
    if (!row) return row.error();
    if (row->unplaced == 0 || copies >= kMaxCopies) return copies;
    if (copies > 1 && row->unplaced == before) return copies / 2;
    before = row->unplaced;
  }
}

void add(PlanRow& sum, const PlanRow& one, double part) {
  sum.gpus += part * one.gpus;
  sum.sharing_gpus += part * one.sharing_gpus;
  sum.node_gpus += part * one.node_gpus;
  sum.unplaced += part * one.unplaced;
}

double savedPercent(double before, double now) {
  return before > 0 ? 100 * (before - now) / before : 0;
}

}  // namespace

Result<PlanResult> runPlan(const Plan& plan, unsigned threads, const Progress& progress) {
  if (plan.seeds.empty()) return Error{ErrorCode::kUsage, "no seed; accepted: at least one"};
  const Result<std::uint32_t> copies = copiesFor(plan);
  if (!copies) return copies.error();
  std::vector<std::uint32_t> cases{0};
  cases.insert(cases.end(), plan.overcommit.begin(), plan.overcommit.end());
  const std::size_t seeds = plan.seeds.size();
  std::vector<PlanRow> found(cases.size() * seeds);
  const auto job = [&](std::size_t at) -> Result<void> {
    const Result<PlanRow> row = once(plan, cases[at / seeds], plan.seeds[at % seeds], *copies);
    if (!row) return row.error();
    found[at] = *row;
    return {};
  };
  const Result<void> all = sideBySide(found.size(), threads, job, progress);
  if (!all) return all.error();
  PlanResult result{*copies, std::vector<PlanRow>(cases.size())};
  for (std::size_t at = 0; at < found.size(); ++at) {
    add(result.rows[at / seeds], found[at], 1.0 / static_cast<double>(seeds));
  }
  const PlanRow whole = result.rows.front();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    PlanRow& row = result.rows[i];
    row.overcommit = cases[i];
    row.saved = savedPercent(whole.gpus, row.gpus);
    row.sharing_saved = savedPercent(whole.sharing_gpus, row.sharing_gpus);
  }
  return result;
}

}  // namespace divvy::simulator
