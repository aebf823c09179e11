#include "permutations.h"

#include <algorithm>
#include <chrono>
#include <future>

#include "sandbox.h"

namespace divvy::test {
namespace {

constexpr std::size_t kMaxLiving = 6;
constexpr std::size_t kMaxOnCard = 8;
constexpr unsigned kOneIn = 20;     // whose status comes late
constexpr unsigned kDisturbed = 4;  // starts, of which one is
constexpr unsigned kStrange = 8;    // that have begun, of which one is tried by another pod's
constexpr unsigned kSeen = 10;      // likewise, of which one has a program look at its devices
constexpr std::chrono::seconds kTrying{60};
constexpr std::chrono::milliseconds kLate{2};

PodAsk shape(Rng* rng, bool inits) {
  PodAsk ask;
  const auto some = [&] {
    const std::uint64_t drawn = rng->below(5);
    return drawn == 0 ? 0u : drawn == 1 ? 2u : 1u;
  };
  for (std::uint64_t at = 0, count = inits ? rng->below(3) : 0; at < count; ++at)
    ask.containers.push_back({"init-" + std::to_string(at), true, some()});
  for (std::uint64_t at = 0, count = 1 + rng->below(2); at < count; ++at)
    ask.containers.push_back({"app-" + std::to_string(at), false, some()});
  ContainerAsk& last = ask.containers.back();
  last.devices = std::max(last.devices, 1u);
  return ask;
}

std::string cardOf(const std::string& unit) {
  return unit.substr(0, unit.find("::"));
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  pods += other.pods;
  containers += other.containers;
  at_once += other.at_once;
  late += other.late;
  elsewhere += other.elsewhere;
  disturbed += other.disturbed;
  again += other.again;
  overtaken += other.overtaken;
  enrolled += other.enrolled;
  turned_away += other.turned_away;
  seen += other.seen;
  amiss.insert(other.amiss.begin(), other.amiss.end());
  return *this;
}

// Of cards that have room for one more.
ExpectedShare Permutations::portionOf(unsigned devices) {
  std::vector<std::string> cards;
  for (const std::string& card : stage_.cards) {
    std::size_t on = 0;
    for (const AssignedPod& pod : living_)
      for (const ExpectedShare& portion : pod.portions)
        on +=
            static_cast<std::size_t>(std::count(portion.uuids.begin(), portion.uuids.end(), card));
    if (on < kMaxOnCard) cards.push_back(card);
  }
  rng_.shuffle(cards);
  ExpectedShare portion;
  if (cards.size() < devices) return portion;
  portion.uuids.assign(cards.begin(), cards.begin() + devices);
  portion.mebibytes = 200 + rng_.below(3000);
  portion.cores = static_cast<unsigned>(1 + rng_.below(9));
  return portion;
}

std::vector<Permutations::Step> Permutations::stepsOf(std::size_t at) const {
  const AssignedPod& pod = living_[at];
  std::vector<Step> steps{{at, Step::kAdmit, 0}};
  for (std::size_t one = 0; one < pod.ask.containers.size(); ++one)
    steps.push_back({at, Step::kStart, one});
  return steps;
}

// Each pod's steps in their order, and those of all in any.
std::vector<Permutations::Step> Permutations::merged(bool in_order) {
  std::vector<std::vector<Step>> all;
  std::size_t left = 0;
  for (std::size_t at = first_new_; at < living_.size(); ++at) {
    all.push_back(stepsOf(at));
    // Some of what goes on ends and is made again.
    if (!in_order && rng_.below(4) == 0) all.back().push_back(all.back().back());
    left += all.back().size();
    std::reverse(all.back().begin(), all.back().end());
  }
  std::vector<Step> order;
  std::size_t turn = 0;
  while (left-- > 0) {
    if (!in_order) turn = rng_.below(all.size());
    while (all[turn].empty()) turn = (turn + 1) % all.size();
    order.push_back(all[turn].back());
    all[turn].pop_back();
  }
  return order;
}

void Permutations::run(bool in_order) {
  while (living_.size() > kMaxLiving) end(rng_.below(living_.size()));
  first_new_ = living_.size();
  const std::uint64_t count = 2 + rng_.below(3);
  // Often all are of one shape: nothing but whose they are tells them apart.
  const PodAsk same = shape(&rng_, stage_.inits);
  const bool equal = rng_.below(2) == 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    AssignedPod pod;
    pod.ask = equal ? same : shape(&rng_, stage_.inits);
    pod.ask.namespace_name = "team-" + std::to_string(rng_.below(3));
    pod.ask.name = "pod-" + std::to_string(++made_);
    pod.ask.uid = "uid-" + std::to_string(rng_.next());
    pod.phases.assign(pod.ask.containers.size(), Phase::kWaiting);
    pod.ends.assign(pod.ask.containers.size(), 0);
    bool fits = true;
    living_.push_back(pod);
    for (const ContainerAsk& one : pod.ask.containers) {
      living_.back().portions.push_back(portionOf(one.devices));
      fits = fits && living_.back().portions.back().uuids.size() == one.devices;
    }
    if (!fits) living_.pop_back();
  }
  for (std::size_t at = first_new_; at < living_.size(); ++at) stage_.bound(living_[at]);
  const std::vector<Step> steps = merged(in_order);
  std::size_t earliest = first_new_;
  for (std::size_t at = 0; at < steps.size();) {
    if (steps[at].what == Step::kAdmit) {
      if (steps[at].pod > earliest) ++tally_.overtaken;
      if (steps[at].pod == earliest) ++earliest;
      if (!admit(living_[steps[at++].pod])) return;
      continue;
    }
    std::vector<Step> together{steps[at++]};
    const auto others = [&](const Step& step) {
      return std::none_of(together.begin(), together.end(),
                          [&](const Step& one) { return one.pod == step.pod; });
    };
    while (!in_order && at < steps.size() && steps[at].what == Step::kStart && others(steps[at]) &&
           rng_.below(2) == 0)
      together.push_back(steps[at++]);
    start(together);
  }
  // Nobody has become another by what came after him.
  for (const AssignedPod& pod : living_)
    for (std::size_t at = 0; at < pod.ask.containers.size(); ++at)
      if (pod.phases[at] == Phase::kRunning && !pod.portions[at].uuids.empty()) check(pod, at);
}

bool Permutations::admit(AssignedPod& pod) {
  ++tally_.pods;
  const bool admitted = stage_.kubelet.admit(pod.ask, rng_.below(8) > 0, &rng_);
  if (!admitted) tally_.amiss.insert_or_assign(pod.ask.name, "is not admitted");
  return admitted;
}

void Permutations::check(const AssignedPod& pod, std::size_t container) {
  const std::string& name = pod.ask.containers[container].name;
  const Allocated given = stage_.kubelet.of(pod.ask.uid, name);
  std::string wrong = amiss(foundBy(given), pod.portions[container]);
  if (stage_.inside != nullptr) wrong += unfit(given);
  const std::string whose = pod.ask.name + "/" + name;
  if (!wrong.empty()) tally_.amiss.insert_or_assign(whose, "has " + wrong);
}

// By what is mounted there, and by whose it is for the agent, it is this pod's; and that is what
// programs see.
void Permutations::goInto(const AssignedPod& pod, std::size_t container) {
  if (stage_.inside == nullptr || !stage_.inside->joins()) return;
  const std::string whose = pod.ask.name + "/" + pod.ask.containers[container].name;
  const Allocated given = stage_.kubelet.of(pod.ask.uid, pod.ask.containers[container].name);
  const ExpectedShare& portion = pod.portions[container];
  const auto wrong = [&](const std::string& what) { tally_.amiss.insert_or_assign(whose, what); };
  // It is one of them, and the slot that it names is not its.
  if (stage_.inside->enroll(pod.ask.uid, given) != ledger::RegisterStatus::kBadSlot)
    wrong("is not taken for who it is");
  const auto other = std::find_if(living_.begin(), living_.end(), [&](const AssignedPod& one) {
    return one.ask.uid != pod.ask.uid;
  });
  if (++tally_.enrolled % kStrange == 0 && other != living_.end()) {
    ++tally_.turned_away;
    if (stage_.inside->enroll(other->ask.uid, given) != ledger::RegisterStatus::kUnknownTenant)
      wrong("has " + other->ask.name + " in it");
  }
  if (tally_.enrolled % kSeen != 0 || !stage_.inside->mounts()) return;
  ++tally_.seen;
  const std::string other_than = amiss(stage_.inside->look(pod.ask.uid, given), portion);
  if (!other_than.empty()) wrong("sees " + other_than);
}

void Permutations::start(const std::vector<Step>& together) {
  std::vector<std::future<Started>> all;
  for (const Step& step : together) {
    const bool late = rng_.below(kOneIn) == 0;
    tally_.late += late ? 1 : 0;
    all.push_back(std::async(std::launch::async, [this, step, late] {
      return startOne(living_[step.pod], step.container, late);
    }));
  }
  std::future<void> disturbed;
  if (stage_.disturb && rng_.below(kDisturbed) == 0) {
    ++tally_.disturbed;
    disturbed = std::async(std::launch::async, stage_.disturb);
  }
  tally_.at_once += together.size() > 1 ? together.size() : 0;
  for (std::size_t at = 0; at < together.size(); ++at) {
    const Started started = all[at].get();
    AssignedPod& pod = living_[together[at].pod];
    const std::size_t container = together[at].container;
    pod.phases[container] = Phase::kRunning;
    // Not every status is told before the next one.
    if (rng_.below(4) > 0) stage_.changed(pod);
    if (pod.portions[container].uuids.empty()) continue;
    ++tally_.containers;
    tally_.again += started.tries > 1 ? 1 : 0;
    const std::string& name = pod.ask.containers[container].name;
    if (!started.refusal.empty()) {
      tally_.amiss.insert_or_assign(pod.ask.name + "/" + name, "is refused: " + started.refusal);
      continue;
    }
    check(pod, container);
    goInto(pod, container);
    const auto& uuids = pod.portions[container].uuids;
    const Allocated given = stage_.kubelet.of(pod.ask.uid, name);
    const bool there = std::all_of(given.ids.begin(), given.ids.end(), [&](const auto& id) {
      return std::find(uuids.begin(), uuids.end(), cardOf(id)) != uuids.end();
    });
    tally_.elsewhere += there ? 0 : 1;
  }
  if (disturbed.valid()) disturbed.get();
}

// Beside others.
Permutations::Started Permutations::startOne(AssignedPod& pod, std::size_t container, bool late) {
  for (std::size_t at = 0; at <= container; ++at) {
    const bool again = at == container;
    if (pod.phases[at] != Phase::kRunning || (!again && !pod.ask.containers[at].init)) continue;
    pod.phases[at] = again ? Phase::kCrashed : Phase::kEnded;
    ++pod.ends[at];
  }
  if (!late) stage_.changed(pod);
  Started started;
  const auto prepare = [&] {
    // As a kubelet does that is refused.
    eventually(
        [&] {
          ++started.tries;
          const grpc::Status status =
              stage_.kubelet.prepare(pod.ask.uid, pod.ask.containers[container].name);
          started.refusal = status.error_message();
          return status.ok();
        },
        kTrying);
  };
  const bool asks = !pod.portions[container].uuids.empty();
  if (asks && late) {
    const auto prepared = std::async(std::launch::async, prepare);
    prepared.wait_for(kLate);
    stage_.changed(pod);
    prepared.wait();
  } else if (asks) {
    prepare();
  }
  return started;
}

void Permutations::end(std::size_t at) {
  const std::string uid = living_[at].ask.uid;
  living_.erase(living_.begin() + static_cast<std::ptrdiff_t>(at));
  stage_.kubelet.end(uid);
  stage_.gone(uid);
  if (stage_.inside != nullptr) stage_.inside->forget(uid);
}

}  // namespace divvy::test
