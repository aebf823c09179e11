// I5 at a closed gate: every launch-like entry point waits, whatever its parameters.
#include "gate_fixture.h"

namespace divvy::interposer {
namespace {

using ledger::GateState;

// Any entry point, called with enough zeros for its parameters; the `null` driver looks at none.
CUresult callWithZeros(const char* symbol) {
  using Zero = std::uint64_t;
  auto* const function = reinterpret_cast<CUresult (*)(Zero, Zero, Zero, Zero, Zero, Zero, Zero,
                                                       Zero, Zero, Zero, Zero, Zero)>(
      ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), symbol));
  return function == nullptr ? CUDA_ERROR_UNKNOWN : function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

bool isWork(const abi::Entry& entry) {
  const std::string base = abi::kCuFamilies[entry.family].base;
  const bool by_class = entry.cls == abi::Class::kLaunch || entry.cls == abi::Class::kCopy ||
                        entry.cls == abi::Class::kSet;
  // Who waits for a value keeps nobody from the card.
  const bool no_work = base == "cuLaunchHostFunc" || base.rfind("cuStreamWaitValue", 0) == 0;
  return entry.wrapped && !no_work && (by_class || base == "cuGraphLaunch");
}

TEST_F(GateTest, EveryLaunchLikeCallUnderHold_I5Waits) {
  if (outside({.machine = "null"})) return;
  makeReady();
  terms().inflight_us = 0;  // no bound: each call waits for its grant alone
  std::uint64_t checked = 0;
  for (const abi::Entry& entry : abi::kCuEntries) {
    if (!isWork(entry) || (isOldDriver() && entry.since > 11040)) continue;
    grant(GateState::kHold);
    {
      Launcher launcher([&] { return callWithZeros(entry.symbol); });
      ASSERT_TRUE(eventually([] { return line() && line()->waiting == 1; })) << entry.symbol;
      EXPECT_FALSE(launcher.done()) << entry.symbol;
      grant(GateState::kRun);
      ASSERT_TRUE(launcher.finishes()) << entry.symbol;
    }
    ASSERT_EQ(control().metered, ++checked) << entry.symbol << " was not metered once";
  }
  EXPECT_EQ(line()->waits, checked);
  EXPECT_GT(checked, isOldDriver() ? 100u : 130u);
}

}  // namespace
}  // namespace divvy::interposer
