// What the agent reads of tenants' memory, from pages that they write.
#include "reports/residency_reader.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "ledger/swap_pages.h"
#include "ledger/tenant_ledger.h"

namespace divvy::agent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class ResidencyReaderTest : public ::testing::Test {
 protected:
  ResidencyReaderTest() {
    std::string pattern = fs::temp_directory_path() / "divvy-swap-reader-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    ledger::TenantSpec spec;
    spec.id = "abc234";
    spec.devices.resize(2);
    spec.devices[0].uuid = "GPU-1";
    spec.devices[1].uuid = "GPU-2";
    for (ledger::DeviceSpec& device : spec.devices) device.ceiling = device.physical = gib(1);
    Result<ledger::TenantLedger> made = ledger::TenantLedger::create(dir_ / "tenant", spec);
    if (!made) throw std::runtime_error(made.error().message());
    ledger_.emplace(std::move(*made));
  }
  ~ResidencyReaderTest() override {
    pages_.close();
    fs::remove_all(dir_);
  }

  void swap() {
    ledger::SwapSpec spec;
    spec.devices.assign(2, {.swappable = true, .overcommit_permille = 1300, .budget = gib(1)});
    const Result<void> set = ledger_->setSwap(spec);
    ASSERT_TRUE(set) << set.error().message();
    ASSERT_EQ(
        ledger::SwapPages::open((dir_ / "tenant").c_str(), ledger_->control().header, &pages_),
        ledger::OpenStatus::kOk);
  }
  ledger::SwapLine& line(unsigned slot) {
    pages_.swap().lines[slot].owner = 1;  // of the first generation
    return pages_.swap().lines[slot];
  }
  void has(unsigned slot, unsigned device, std::uint64_t swappable, std::uint64_t mapped,
           std::uint64_t pinned) {
    ledger::SwapDevice& at = line(slot).device[device];
    at.swappable = swappable;
    at.mapped = mapped;
    at.pinned = pinned;
  }
  void moved(std::uint64_t out, std::uint64_t in) {
    line(0).device[0].out_bytes = out;
    line(0).device[0].in_bytes = in;
  }
  ResidencyReader reader() {
    Result<ResidencyReader> reader = ResidencyReader::open(dir_ / "tenant", 2);
    if (!reader) throw std::runtime_error(reader.error().message());
    return std::move(*reader);
  }

  fs::path dir_;
  std::optional<ledger::TenantLedger> ledger_;
  ledger::SwapPages pages_;
};

TEST_F(ResidencyReaderTest, TenantNotSwapped_NotFound) {
  const Result<ResidencyReader> reader = ResidencyReader::open(dir_ / "tenant", 2);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code(), ErrorCode::kNotFound);
}

TEST_F(ResidencyReaderTest, SeveralProcesses_FiguresAddUp) {
  swap();
  has(0, 0, 100, 60, 8);
  has(1, 0, 50, 50, 8);
  has(1, 1, 7, 0, 0);
  line(1).refusal = static_cast<std::uint32_t>(ledger::SwapRefusal::kCapturing);
  line(0).pin_reasons = 1 | 1 << 2;
  line(0).state = ledger::kSwapPressed;
  line(0).pressure_waits = 3;
  line(1).pressure_refusals = 2;
  has(2, 0, 1000, 1000, 1000);  // nobody asked for it
  const ResidencySummary sums = reader().read({{0, 0}, {1, 0}});
  ASSERT_EQ(sums.devices.size(), 2u);
  EXPECT_EQ(sums.devices[0].swappable, Bytes{150});
  EXPECT_EQ(sums.devices[0].out(), Bytes{40});
  EXPECT_EQ(sums.devices[0].pinned, Bytes{16});
  EXPECT_EQ(sums.devices[1].out(), Bytes{7});
  EXPECT_EQ(sums.pressed, 1u);
  EXPECT_EQ(sums.pressure_waits, 3u);
  EXPECT_EQ(sums.pressure_refusals, 2u);
  EXPECT_EQ(refusalWords(sums.refusal), "it captures a graph");
  EXPECT_EQ(pinNames(sums.pin_reasons), (std::vector<std::string>{"context", "arrays"}));
}

// The file is the tenant's: sums must not run over whatever stands there.
TEST_F(ResidencyReaderTest, HostileFigures_StayBounded) {
  swap();
  for (unsigned slot = 0; slot < 2; ++slot) {
    has(slot, 0, ~0ull, ~0ull, ~0ull);
    has(slot, 1, 1, ~0ull, 0);
    line(slot).refusal = ~0u;
    line(slot).pin_reasons = ~0ull;
  }
  const ResidencySummary sums = reader().read({{0, 0}, {1, 0}});
  EXPECT_LE(sums.devices[0].pinned, Bytes{1ull << 51});
  EXPECT_EQ(sums.devices[1].out(), Bytes{});
  EXPECT_EQ(refusalWords(sums.refusal), "");
  EXPECT_EQ(pinNames(sums.pin_reasons).size(), 64u);
  EXPECT_EQ(pinNames(1ull << 63), std::vector<std::string>{"reason 63"});
}

TEST_F(ResidencyReaderTest, Samples_RatesOfLastWindow) {
  swap();
  const ResidencyReader::Slots slots{{0, 0}};
  ResidencyReader reader = this->reader();
  const Clock::time_point start = Clock::now();
  moved(1000, 500);
  reader.sample(slots, start);
  // What it moved before it was known says nothing.
  EXPECT_EQ(reader.rates().at(0).out, 0u);
  moved(3000, 600);
  reader.sample(slots, start + std::chrono::seconds(2));
  EXPECT_EQ(reader.rates().at(0).out, 1000u);
  EXPECT_EQ(reader.rates().at(0).in, 50u);
  moved(10, ~0ull);
  reader.sample(slots, start + std::chrono::seconds(3));
  EXPECT_EQ(reader.rates().at(0).out, 0u);
  EXPECT_LE(reader.rates().at(0).in, 1ull << 50);
}

TEST_F(ResidencyReaderTest, TruncatedFile_ReadsZero) {
  swap();
  ResidencyReader reader = this->reader();
  has(0, 0, 100, 60, 8);
  fs::resize_file(dir_ / "tenant" / "swap", 0);
  EXPECT_EQ(reader.read({{0, 0}}).devices.at(0).swappable, Bytes{});
}

}  // namespace
}  // namespace divvy::agent
