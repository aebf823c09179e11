// What is suggested helps, and nothing smaller of the same kind does, by trying it elsewhere.
#include "engine/suggestion.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "brute.h"
#include "some.h"

namespace divvy::engine {
namespace {

// A world of one node, in the engine and by trying everything.
struct Pair {
  Engine engine{Config{}};
  brute::World world;

  explicit Pair(const Node& node) {
    EXPECT_TRUE(engine.setNode(node));
    world.add(node);
  }
  void place(const Request& request) {
    const Result<Allocation> given = engine.place(request, Instant{1});
    if (given) world.book(given->placement, 1);
  }
  const brute::Machine& machine() const { return world.machines().begin()->second; }
  bool fits(const Shape& shape) const { return !world.refusal(machine(), shape); }
};

bool amount(const Change& change) {
  return change.kind < ChangeKind::kModels;
}

// Amounts of memory below `ask`'s that a device could want at least, and those between.
std::vector<DeviceMemory> lessThan(const DeviceRequest& ask, const brute::Machine& machine) {
  std::vector<DeviceMemory> less;
  if (const auto* percent = std::get_if<Percent>(&ask.memory)) {
    for (std::uint32_t value = 1; value < percent->value; ++value) less.push_back(Percent{value});
    return less;
  }
  const Bytes asked = std::get<Bytes>(ask.memory);
  const auto add = [&](Bytes bytes) {
    if (bytes.count > 0 && bytes < asked) less.push_back(bytes);
  };
  add(Bytes{1});
  for (Bytes at; at < asked; at = at + mib(256)) add(at);
  for (const brute::Card& card : machine.cards) {
    if (!ask.guarantee) continue;
    const DeviceRequest guaranteed{1, *ask.guarantee};
    const Charge charge = brute::chargeFor(guaranteed, false, card);
    add(charge.memory);
  }
  return less;
}

// Nor is any amount of memory that is less of a change; what fits is not all in one piece.
void expectNoneBetween(const Pair& pair, const Shape& asked, const Remedy& remedy, std::size_t i) {
  DeviceRequest ask{1, Bytes{remedy[i].from}};
  Remedy smaller = remedy;
  for (const DeviceMemory& amount : lessThan(ask, pair.machine())) {
    smaller[i].to = std::get<Bytes>(amount).count;
    if (smaller[i].to <= remedy[i].to) continue;
    ASSERT_FALSE(pair.fits(changed(asked, smaller))) << text(smaller);
  }
}

// One less of the change is not enough.
void expectSmallest(const Pair& pair, const Shape& asked, const Remedy& remedy) {
  for (std::size_t i = 0; i < remedy.size(); ++i) {
    Remedy smaller = remedy;
    if (amount(remedy[i])) {
      ASSERT_LT(remedy[i].to, remedy[i].from);
      ++smaller[i].to;
      ASSERT_FALSE(pair.fits(changed(asked, smaller))) << text(remedy);
      if (remedy[i].kind == ChangeKind::kDeviceMemory) expectNoneBetween(pair, asked, remedy, i);
      continue;
    }
    for (const std::string& name : remedy[i].names) {
      smaller[i].names = remedy[i].names;
      smaller[i].names.erase(std::find(smaller[i].names.begin(), smaller[i].names.end(), name));
      ASSERT_FALSE(pair.fits(changed(asked, smaller))) << text(remedy) << " without " << name;
    }
  }
}

std::size_t asksOf(const Shape& shape, std::size_t c) {
  const std::size_t init = shape.init.size();
  return 1 + (c < init ? shape.init[c] : shape.containers[c - init]).others.size();
}

// Each of a container's asks for devices, by trying the least of each amount.
template <typename With>
bool anyAskHelps(const With& with, std::size_t asks, const brute::Machine& machine) {
  for (std::size_t k = 0; k < asks; ++k) {
    const auto of = [&](Container* at) -> DeviceRequest& {
      return k == 0 ? at->devices : at->others[k - 1];
    };
    if (with([&](Container* at) {
          if (of(at).count <= 1) return false;
          of(at).count = 1;
          return true;
        }))
      return true;
    if (with([&](Container* at) {
          if (of(at).count == 0 || of(at).compute <= Compute{1}) return false;
          of(at).compute = {1};
          return true;
        }))
      return true;
    std::vector<DeviceMemory> memory;
    with([&](Container* at) {
      if (of(at).count > 0) memory = lessThan(of(at), machine);
      return false;
    });
    for (const DeviceMemory& less : memory) {
      if (with([&](Container* at) {
            of(at).memory = less;
            return true;
          }))
        return true;
    }
    if (with([&](Container* at) {
          if (of(at).count == 0 || !of(at).guarantee) return false;
          if (auto* percent = std::get_if<Percent>(&*of(at).guarantee))
            return std::exchange(percent->value, 1u) > 1;
          return std::exchange(std::get<Bytes>(*of(at).guarantee), Bytes{}) > Bytes{};
        }))
      return true;
  }
  return false;
}

// Of amounts, each alone, by steps of what the random requests are made of: whether any would help.
bool anyAmountHelps(const Pair& pair, const Shape& asked) {
  const std::size_t containers = asked.init.size() + asked.containers.size();
  for (std::size_t c = 0; c < containers; ++c) {
    const auto with = [&](const auto& change) {
      Shape shape = asked;
      Container& at =
          c < shape.init.size() ? shape.init[c] : shape.containers[c - shape.init.size()];
      if (!change(&at)) return false;
      return pair.fits(shape);
    };
    if (with([](Container* at) { return std::exchange(at->cpu, Cpu{}) > Cpu{}; })) return true;
    if (with([](Container* at) { return std::exchange(at->memory, Bytes{}) > Bytes{}; }))
      return true;
    if (anyAskHelps(with, asksOf(asked, c), pair.machine())) return true;
  }
  return false;
}

TEST(Suggestion, RandomNodes_HelpsAndIsSmallest) {
  Rng rng(23);
  std::array<unsigned, 16> seen{};
  unsigned together = 0;
  unsigned hopeless = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    some::Wild wild{rng, true, round % 2 == 1};
    Pair pair(wild.node("n"));
    for (unsigned i = 0; i < rng.below(8); ++i) pair.place(wild.request("p" + std::to_string(i)));
    Request request = wild.request("r");
    if (rng.below(4) == 0)
      request.shape.selector.not_uuids = {DeviceUuid("n/0"), DeviceUuid("n/1")};
    const auto remedies = pair.engine.remedies(request, NodeName("n"));
    ASSERT_TRUE(remedies) << remedies.error().message();
    if (pair.fits(request.shape)) {
      ASSERT_TRUE(remedies->empty());
      continue;
    }
    bool amounts = false;
    for (const Remedy& remedy : *remedies) {
      ASSERT_TRUE(pair.fits(changed(request.shape, remedy))) << round << ": " << text(remedy);
      ASSERT_NO_FATAL_FAILURE(expectSmallest(pair, request.shape, remedy)) << round;
      for (const Change& change : remedy) ++seen[static_cast<std::size_t>(change.kind)];
      together += remedy.size() > 1 ? 1 : 0;
      amounts = amounts || (remedy.size() == 1 && amount(remedy[0]));
    }
    ASSERT_EQ(amounts, anyAmountHelps(pair, request.shape)) << round;
    hopeless += remedies->empty() ? 1 : 0;
  }
  for (std::size_t kind = 0; kind < seen.size(); ++kind) EXPECT_GT(seen[kind], 0u) << kind;
  EXPECT_GT(together, 0u);
  EXPECT_GT(hopeless, 0u) << "a node without devices, or cordoned";
}

TEST(Suggestion, RefusedRequests_TextNamesChange) {
  Node node = some::node("n", 2);
  node.devices[0].memory = node.devices[1].memory = gib(24);
  Pair pair(node);
  pair.place(some::request("a", 2, 600, gib(20)));
  const auto said = [&](const Request& request) {
    std::vector<std::string> lines;
    const auto remedies = pair.engine.remedies(request, NodeName("n"));
    if (remedies)
      for (const Remedy& remedy : *remedies) lines.push_back(text(remedy));
    return lines;
  };
  EXPECT_EQ(
      said(some::request("b", 1, 300, gib(8))),
      std::vector<std::string>{"ask for 4 GiB instead of 8 GiB of device memory in container 0"});
  EXPECT_EQ(
      said(some::request("b", 1, 500, gib(8))),
      std::vector<std::string>{"ask for 4 GiB instead of 8 GiB of device memory in container 0 and "
                               "ask for 40% instead of 50% of a device's compute in container 0"});
  pair.place(some::request("c", 2, 100, mib(1024 + 7) + Bytes{5}));
  EXPECT_EQ(
      said(some::request("b", 1, 300, gib(8))),
      std::vector<std::string>{"ask for 3064 MiB instead of 8 GiB of device memory in container 0"})
      << "less than what is free, rounded";
  EXPECT_EQ(said(some::request("b", 3, 300, gib(1))),
            std::vector<std::string>{"ask for 2 instead of 3 devices in container 0"});
  Request picky = some::request("b", 1, 300, gib(1));
  picky.shape.selector.models = {ModelName("A100")};
  EXPECT_EQ(said(picky), std::vector<std::string>{"accept the model H100"});
  picky.shape.selector.models.clear();
  picky.shape.selector.not_uuids = {node.devices[0].uuid, node.devices[1].uuid};
  EXPECT_EQ(said(picky), std::vector<std::string>{"do not exclude the device n/0"});
}

TEST(Suggestion, UnknownNode_NotFound) {
  Engine engine{Config{}};
  const auto remedies = engine.remedies(some::request("r", 1, 0), NodeName("nowhere"));
  ASSERT_FALSE(remedies);
  EXPECT_EQ(remedies.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(remedies.error().message().find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace divvy::engine
