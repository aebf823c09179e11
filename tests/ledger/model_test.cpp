// S2: random histories against a model that knows nothing of lanes, slots or spare bytes.
#include <array>
#include <memory>
#include <random>

#include "tenant_fixture.h"

namespace divvy::ledger {
namespace {

constexpr unsigned kDevices = 3;
constexpr unsigned kProcesses = 5;

// What any correct ledger answers.
struct Model {
  std::array<std::uint64_t, kDevices> limit{};
  std::array<std::uint64_t, kDevices> headroom{};
  std::array<std::array<std::uint64_t, kDevices>, kProcesses> used{};

  std::uint64_t total(unsigned dev) const {
    std::uint64_t sum = 0;
    for (const auto& process : used) sum += process[dev];
    return sum;
  }
  std::uint64_t admissible(unsigned dev) const {
    return limit[dev] > headroom[dev] ? limit[dev] - headroom[dev] : 0;
  }
  std::uint64_t free(unsigned dev) const {
    return admissible(dev) > total(dev) ? admissible(dev) - total(dev) : 0;
  }
};

// Several accounts in one process stand for several processes: each claims a slot of its own.
class History {
 public:
  explicit History(unsigned seed) : random_(seed) {
    ledger_.emplace(mustCreate(private_.path() / "t", specWith(kLimit, kDevices)));
    model_.limit.fill(kLimit);
    for (unsigned i = 0; i < kProcesses; ++i) start(i);
  }

  void run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << "operation " << i);
      one();
      compare();
    }
  }

 private:
  static constexpr std::uint64_t kLimit = 1 << 20;

  std::uint64_t upTo(std::uint64_t most) { return random_() % (most + 1); }

  void start(unsigned i) {
    accounts_[i] = std::make_unique<Account>();
    mustAttach(private_.path() / "t", *accounts_[i]);
    ASSERT_EQ(accounts_[i]->claim(), Admission::kGranted);
  }

  void one() {
    const auto dev = static_cast<unsigned>(random_() % kDevices);
    const auto process = static_cast<unsigned>(random_() % kProcesses);
    switch (random_() % 16) {
      case 0:
        return changeLimit(dev);
      case 1:
        return dieAndRestart(process);
      case 2:
        return release(process, dev, model_.used[process][dev]);
      case 3:
        return reserve(process, dev, model_.free(dev));  // to the last byte
      case 4:
        return reserve(process, dev, model_.free(dev) + 1);  // and one beyond
      default:
        break;
    }
    if (random_() % 2 == 0) {
      reserve(process, dev, upTo(kLimit / (random_() % 2 == 0 ? 2 : 64)));
    } else {
      release(process, dev, upTo(model_.used[process][dev]));
    }
  }

  void reserve(unsigned process, unsigned dev, std::uint64_t bytes) {
    const bool fits = bytes <= model_.free(dev);
    const Admission got = accounts_[process]->reserve(dev, bytes);
    ASSERT_EQ(got, fits || bytes == 0 ? Admission::kGranted : Admission::kOverLimit) << bytes;
    if (got == Admission::kGranted) model_.used[process][dev] += bytes;
  }

  void release(unsigned process, unsigned dev, std::uint64_t bytes) {
    accounts_[process]->release(dev, bytes);
    model_.used[process][dev] -= bytes;
  }

  void changeLimit(unsigned dev) {
    model_.limit[dev] = 1 + upTo(2 * kLimit);
    model_.headroom[dev] = upTo(kLimit / 8);
    ASSERT_TRUE(ledger_->setMemory(dev, {}, {model_.limit[dev]}));
    ASSERT_TRUE(ledger_->setHeadroom(dev, {model_.headroom[dev]}));
  }

  void dieAndRestart(unsigned process) {
    const unsigned slot = accounts_[process]->slot();
    const std::uint64_t state = accounts_[process]->pages().report().slots[slot].state.low;
    const Result<ReapResult> reaped = ledger_->reap(slot, stateGeneration(state));
    ASSERT_TRUE(reaped);
    ASSERT_EQ(reaped->outcome, ReapOutcome::kFreed);
    EXPECT_EQ(accounts_[process]->reserve(0, 1), Admission::kBroken);  // it knows
    model_.used[process].fill(0);
    start(process);
  }

  void compare() {
    for (unsigned dev = 0; dev < kDevices; ++dev) {
      EXPECT_EQ(accounts_[0]->total(dev), model_.total(dev));
      EXPECT_EQ(accounts_[0]->free(dev), model_.free(dev));
      for (unsigned i = 0; i < kProcesses; ++i) {
        EXPECT_EQ(accounts_[0]->processUsed(accounts_[i]->slot(), dev), model_.used[i][dev]);
      }
    }
    const Result<ReportSnapshot> seen = ledger_->readReport();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->suspicions, 0u) << suspicionNames(seen->suspicions);
    for (unsigned dev = 0; dev < kDevices; ++dev) {
      EXPECT_EQ(seen->devices[dev].total.count, model_.total(dev));
    }
  }

  std::mt19937_64 random_;
  PrivateDir private_;
  std::optional<TenantLedger> ledger_;
  std::array<std::unique_ptr<Account>, kProcesses> accounts_;
  Model model_;
};

TEST(LedgerModel, RandomHistories_S2AdmissionAgrees) {
  for (unsigned seed = 1; seed <= 20 / kSlowdown && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    History(seed).run(1000);
  }
}

}  // namespace
}  // namespace divvy::ledger
