// CUDA's devices by ordinal are NVML's devices by the mapping that frameworks make of
// CUDA_VISIBLE_DEVICES: nvml_replay.py does what PyTorch and vLLM do, this table says for which
// values and tenants. HAMi #1218: UUIDs in the variable mapped everything to device 0.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulated_node.h"

namespace divvy::interposer::test {
namespace {

constexpr char kUnset[] = "(unset)";

// A value of the variable and the tenant's cards (by the tenant's numbers) that it selects.
struct Selection {
  std::string value;
  std::vector<unsigned> expected;
  // False where PyTorch leaves the count to CUDA.
  bool torch_counts = true;
};

constexpr const char* kOrders[] = {"null", "\"PCI_BUS_ID\"", "\"FASTEST_FIRST\""};

class Replay {
 public:
  Replay(const std::string& profile, std::vector<unsigned> cards)
      : node_(profile), tenant_(node_.tenantOf(cards, gib(4))), cards_(std::move(cards)) {
    std::sort(cards_.begin(), cards_.end());
  }

  const std::string& uuid(unsigned own_number) const {
    return node_.cards()[cards_[own_number]].uuid;
  }
  // A card of the node that is not the tenant's; empty where there is none.
  std::string foreignUuid() const {
    for (unsigned i = 0; i < node_.cards().size(); ++i) {
      if (!std::count(cards_.begin(), cards_.end(), i)) return node_.cards()[i].uuid;
    }
    return "";
  }
  unsigned own() const { return static_cast<unsigned>(cards_.size()); }

  // Every selection under every CUDA_DEVICE_ORDER; the cards are alike, so that it changes nothing.
  void check(const std::vector<Selection>& selections) const {
    std::vector<std::string> command{"python3", built("tests/nvml_replay.py")};
    for (const Selection& selection : selections) {
      const std::string value = selection.value == kUnset ? "null" : '"' + selection.value + '"';
      for (const char* order : kOrders) command.push_back("[" + value + "," + order + "]");
    }
    const ProgramResult seen = runProgram(command, node_.inside(*tenant_), 60);
    ASSERT_EQ(seen.status, 0) << seen.out << seen.err;
    unsigned number = 0;
    for (const Selection& selection : selections) {
      for (const char* order : kOrders) {
        SCOPED_TRACE("CUDA_VISIBLE_DEVICES=" + selection.value + " CUDA_DEVICE_ORDER=" + order);
        compare(selection, std::to_string(number++) + ":", seen);
      }
    }
  }

 private:
  void compare(const Selection& selection, const std::string& question,
               const ProgramResult& seen) const {
    EXPECT_EQ(seen.answer(question + "nvml_count"), std::to_string(own()))
        << "NVML ignores the variable";
    const std::string count = std::to_string(selection.expected.size());
    EXPECT_EQ(seen.answer(question + "cuda_count"), count);
    EXPECT_EQ(seen.answer(question + "torch_count"), selection.torch_counts ? count : "-1");
    for (unsigned i = 0; i < selection.expected.size(); ++i) {
      const std::string ordinal = ":" + std::to_string(i);
      const std::string& expected = uuid(selection.expected[i]);
      EXPECT_EQ(seen.answer(question + "cuda" + ordinal), expected);
      EXPECT_EQ(seen.answer(question + "vllm" + ordinal), expected);
      EXPECT_EQ(seen.answer(question + "torch" + ordinal), expected);
    }
  }

  SimulatedNode node_;
  std::unique_ptr<TenantDir> tenant_;
  std::vector<unsigned> cards_;
};

// Every value has the same meaning to a tenant with all cards and to one with some of them.
void checkAll(const Replay& replay) {
  std::vector<unsigned> everything;
  for (unsigned i = 0; i < replay.own(); ++i) everything.push_back(i);
  const std::string first = replay.uuid(0);
  const std::string second = replay.uuid(1);
  const std::string nobody = "GPU-ffffffff";
  std::vector<Selection> selections{
      {kUnset, everything},
      {"0", {0}},
      {"1", {1}},
      {"0,1", {0, 1}},
      {"1,0", {1, 0}},
      {" 1 , 0", {1, 0}},
      {second, {1}},
      {second + "," + first, {1, 0}},
      {second.substr(0, 12), {1}},  // cut short where it stays unique
      // The first entry that names nothing ends the list.
      {"1,-1,0", {1}},
      {"0,7", {0}},
      {first + "," + nobody + "," + second, {0}},
      {"7", {}},
      {"", {}},
      {"-1", {}},
      {"NoDevFiles", {}},
      {nobody, {}},
      // A card named twice makes the whole list void.
      {"0,0", {}},
      {first + "," + first, {}},
      {"MIG-11111111-2222-5333-8444-555555555555", {}, false},
  };
  if (!replay.foreignUuid().empty()) {
    selections.push_back({replay.foreignUuid(), {}});
    selections.push_back({first + "," + replay.foreignUuid(), {0}});
    selections.push_back({"2", {}});  // although the node has such a card
  }
  replay.check(selections);
}

TEST(VisibleDevices, TenantWithAllCards_S13I6OrdinalsMatchNvml) {
  checkAll(Replay("4090x2", {0, 1}));
}

TEST(VisibleDevices, TenantWithLastTwo_S13I6OrdinalsMatchNvml) {
  checkAll(Replay("4090x4", {2, 3}));
}

TEST(VisibleDevices, TenantWithFirstAndThird_S13I6OrdinalsMatch) {
  checkAll(Replay("4090x4", {0, 2}));
}

// vLLM's scene: a worker on the second card is told of it by the variable alone.
TEST(VisibleDevices, ValueOne_S13TenantsSecondCard) {
  Replay("4090x4", {1, 3}).check({{"1", {1}}});
}

TEST(VisibleDevices, PageInOtherOrder_S13OrdinalsInPciOrder) {
  const Replay replay("4090x4", {3, 1});
  replay.check({{kUnset, {0, 1}}, {"0", {0}}, {"1", {1}}, {"1,0", {1, 0}}});
}

}  // namespace
}  // namespace divvy::interposer::test
