// "Correctness comes first" of issue 4: tenants that use their memory at random, from which it is
// taken at random moments, chunk by chunk, find every byte as in a twin that was never swapped.
//
// 10,000 swaps (one is a chunk out and in) of small chunks, and a part of them of larger ones,
// which are longer under way. For a million instead: ./dev test --long, which sets
// DIVVY_TWIN_SWAPS and DIVVY_TWIN_SEED.
//
// What a seed does is the same each time; when memory leaves meanwhile is not.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "swap_fixture.h"
#include "twin.h"

namespace divvy::interposer {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kSwaps = 500;
#else
constexpr std::uint64_t kSwaps = 10'000;
#endif
constexpr unsigned kMaxTwins = 2;

std::uint64_t fromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Threads, each with a twin of its own.
class Tenants {
 public:
  Tenants(unsigned twins, std::uint64_t seed, CUcontext context, TwinReader& reader)
      : reader_(reader), in_order_(twins > 1) {
    for (unsigned i = 0; i < twins; ++i) {
      threads_.emplace_back([this, i, seed, context] {
        cu<Cu::cuCtxSetCurrent>(context);
        run(i, seed * kMaxTwins + i, context);
      });
    }
  }
  ~Tenants() { end(); }

  // Ends them; all memory has to be allowed.
  void end() {
    over_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  std::uint64_t steps() const { return steps_; }
  bool failed() const { return failed_; }
  // After end().
  const std::string& failure(unsigned i) const { return failures_[i]; }

 private:
  void run(unsigned i, std::uint64_t seed, CUcontext context) {
    Twin twin(seed, context, reader_, in_order_);
    while (!over_ && twin.failure().empty()) {
      twin.step();
      ++steps_;
    }
    twin.compareAll();
    failures_[i] = twin.failure();
    if (!failures_[i].empty()) failed_ = true;
  }

  TwinReader& reader_;
  const bool in_order_;
  std::atomic<bool> over_{false};
  std::atomic<bool> failed_{false};
  std::atomic<std::uint64_t> steps_{0};
  std::string failures_[kMaxTwins];
  std::vector<std::thread> threads_;
};

struct Chunks {
  std::uint64_t kib;
  std::uint64_t part;  // of the swaps
  // One alone is told when anything is unmapped while it has kernels on the card, two when what
  // they touch is: one may well free while the other computes. So it is where memory comes and goes
  // in the order of streams.
  unsigned twins;
};

class SwapModelTest : public SwapTest, public testing::WithParamInterface<Chunks> {
 protected:
  static std::uint64_t swaps() {
    const auto now = shown();
    return now ? std::min(now->chunks_out, now->chunks_in) : 0;
  }

  static std::string state() {
    const auto now = shown();
    if (!now) return "no line";
    const auto& device = now->device[0];
    return "state " + std::to_string(now->state) + ", refusal " + std::to_string(now->refusal) +
           ", aborts " + std::to_string(now->aborts) + ", drains " + std::to_string(now->drains) +
           ", out " + std::to_string(now->chunks_out) + ", in " + std::to_string(now->chunks_in) +
           ", swappable " + std::to_string(device.swappable) + ", mapped " +
           std::to_string(device.mapped) + ", pinned " + std::to_string(device.pinned) +
           ", resident " + std::to_string(resident());
  }

  // One order of the agent's, and until it has come some way: memory leaves, turns back half way,
  // comes, and is used; or is used while a part of it is at the host.
  bool round(std::mt19937_64& random, const Tenants& tenants) {
    const auto before = shown();
    if (!before) return false;
    const std::uint64_t there = before->device[0].swappable;
    std::uint64_t level = random() % 3 == 0 ? 0 : random() % (there + 1);
    const std::uint32_t flags = random() % 3 == 0 ? ledger::kMayHostMap : 0;
    // What is shown to another process needs room on the device, whoever leaves.
    if (flags != 0) level = std::max(level, kShownAtOnce);
    allow(level, kGiB, flags);
    const std::uint64_t gone = before->chunks_out + 1 + random() % 200;
    bool left = eventually([&] {
      // For a moment too much may be shown as pinned, which allow() adds.
      allow(level, kGiB, flags);
      const auto now = shown();
      return now->device[0].mapped <= level || now->chunks_out >= gone || tenants.failed();
    });
    EXPECT_TRUE(left) << "told to have " << level << " does not leave: " << state();
    if (flags != 0) left = goesOn(random, level, tenants) && left;
    allow(kEverything);
    const bool all = random() % 4 != 0;
    const std::uint64_t come = before->chunks_in + 1 + random() % 100;
    const std::uint64_t used = tenants.steps() + random() % 60;
    const bool back = eventually([&] {
      if (tenants.failed()) return true;
      return all ? tenants.steps() >= used
                 : shown()->chunks_in >= come || shows(ledger::kSwapReady);
    });
    EXPECT_TRUE(back) << "does not come back: " << state() << ", operations " << tenants.steps()
                      << " of " << used;
    return left && back;
  }

  bool goesOn(std::mt19937_64& random, std::uint64_t level, const Tenants& tenants) {
    const std::uint64_t used = tenants.steps() + 1 + random() % 60;
    const bool gone = eventually([&] {
      allow(level, kGiB, ledger::kMayHostMap);
      return tenants.steps() >= used || tenants.failed();
    });
    EXPECT_TRUE(gone) << "does not go on with " << level << " and the host: " << state();
    with_host_ += shows(ledger::kSwapHostMapped) ? 1 : 0;
    return gone;
  }

  static constexpr std::uint64_t kShownAtOnce = 4 * kMiB;
  static constexpr std::uint64_t kMaxRounds = 300;  // only to have seen memory at the host
  std::uint64_t with_host_ = 0;                     // rounds
};

TEST_P(SwapModelTest, RandomWorkAndSwaps_BytesAsNeverSwapped) {
  Tenancy tenancy = swappable();
  tenancy.machine = "swap";
  tenancy.swap_chunk = GetParam().kib << 10;
  if (GetParam().twins > 1) tenancy.environment["SIMGPU_FAULTS"] = "strict-unmap";
  if (outside(tenancy)) return;
  const std::uint64_t wanted = fromEnvironment("DIVVY_TWIN_SWAPS", kSwaps) / GetParam().part;
  const std::uint64_t seed = fromEnvironment("DIVVY_TWIN_SEED", 1);
  SCOPED_TRACE("DIVVY_TWIN_SEED=" + std::to_string(seed));
  TwinReader reader;
  makeSwappable();
  CUcontext context = nullptr;
  ASSERT_EQ(cu<Cu::cuCtxGetCurrent>(&context), CUDA_SUCCESS);
  Tenants tenants(GetParam().twins, seed, context, reader);
  std::mt19937_64 random(seed);
  ASSERT_TRUE(eventually([&] { return tenants.steps() > 0; }));
  std::uint64_t rounds = 0;
  // Few swaps of large chunks may have been without any of those by chance: then it goes on.
  const auto enough = [&] {
    return swaps() >= wanted && (with_host_ > rounds / 20 || rounds >= kMaxRounds);
  };
  for (; !enough() && !tenants.failed(); ++rounds) {
    arbiter().beat();
    const bool moves = round(random, tenants);
    EXPECT_TRUE(moves) << "round " << rounds;
    if (!moves) break;
  }
  allow(kEverything);
  tenants.end();
  for (unsigned i = 0; i < kMaxTwins; ++i) EXPECT_EQ(tenants.failure(i), "") << "tenant " << i;
  EXPECT_GE(swaps(), wanted);
  EXPECT_GE(tenants.steps(), rounds) << "it was used meanwhile";
  EXPECT_GT(with_host_, rounds / 20) << "of " << rounds << " with memory at the host";
  EXPECT_EQ(takenUnderWork(), 0u);
  EXPECT_EQ(faults(31), 0u);
  EXPECT_GE(reader.visits(), reader.refused());
  std::printf(
      "%llu swaps in %llu rounds (%llu with memory at the host), %llu operations, "
      "%llu shown to another process, %llu refused\n",
      static_cast<unsigned long long>(swaps()), static_cast<unsigned long long>(rounds),
      static_cast<unsigned long long>(with_host_), static_cast<unsigned long long>(tenants.steps()),
      static_cast<unsigned long long>(reader.visits()),
      static_cast<unsigned long long>(reader.refused()));
}

INSTANTIATE_TEST_SUITE_P(Of, SwapModelTest,
                         testing::Values(Chunks{64, 1, 1}, Chunks{64, 2, 2}, Chunks{512, 8, 2},
                                         Chunks{2048, 32, 1}),
                         [](const auto& named) {
                           return std::to_string(named.param.kib) + "KiB_" +
                                  std::to_string(named.param.twins);
                         });

}  // namespace
}  // namespace divvy::interposer
