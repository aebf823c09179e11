#include "swap_fixture.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "ledger/swap_pages.h"

namespace divvy::interposer {
namespace {

// Millions of words that only this thread has: a sanitizer that watches each takes minutes.
[[gnu::no_sanitize("thread", "address", "undefined"), gnu::optimize("O2")]] void fill(
    std::uint32_t* words, std::size_t count, std::uint32_t state) {
  for (std::size_t i = 0; i < count; ++i) words[i] = state = state * 1664525u + 1013904223u;
}

[[gnu::no_sanitize("thread", "address", "undefined"), gnu::optimize("O2")]] bool follows(
    const std::uint32_t* words, std::size_t count, std::uint32_t state) {
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    if (words[i] != state) return false;
  }
  return true;
}

std::uint32_t stateOf(unsigned seed) {
  return seed * 2654435761u + 1;
}

// Not set to zero.
std::unique_ptr<std::uint32_t[]> wordsFor(std::uint64_t bytes) {
  return std::make_unique_for_overwrite<std::uint32_t[]>(bytes / sizeof(std::uint32_t));
}

struct Place {
  unsigned slot;
  std::uint64_t generation;
};

ledger::Account& books(const std::string& dir) {
  static ledger::Account account;
  ledger::TenantPages pages;
  if (!account.attached() &&
      ledger::TenantPages::open(dir.c_str(), &pages) == ledger::OpenStatus::kOk) {
    account.attach(pages);
  }
  return account;
}

// Of this process.
std::optional<Place> place(const std::string& dir) {
  std::optional<Place> found;
  books(dir).forEachLiveSlot([&](const ledger::LiveProcess& process) {
    if (process.owner.pid != static_cast<std::uint32_t>(::getpid())) return;
    const auto& slot = books(dir).pages().report().slots[process.slot];
    found = Place{process.slot, ledger::stateGeneration(slot.state.low)};
  });
  return found;
}

ledger::ResidencyPages& residency(const std::string& dir) {
  static auto pages = ledger::ResidencyPages::open(dir);
  if (!pages) {
    ADD_FAILURE() << pages.error().message();
    std::abort();
  }
  return *pages;
}

}  // namespace

Tenancy SwapTest::swappable() {
  Tenancy tenancy;
  tenancy.swap = true;
  tenancy.swap_chunk = 2 * kMiB;
  tenancy.environment["SIMGPU_FAULTS"] = "strict-unmap=any";
  return tenancy;
}

void SwapTest::makeSwappable(ledger::GateState state) {
  makeReady();
  grant(state);
  allow(kEverything);
}

void SwapTest::allow(std::uint64_t bytes, std::uint64_t host_bytes, std::uint32_t flags) {
  const auto mine = place(tenantDir());
  ASSERT_TRUE(mine) << "this process has no slot";
  ledger::ResidencyOrder order;
  const auto now = shown();
  order.allowed.fill(bytes + (now ? pinned() : 0));
  order.most.fill(kEverything);
  order.host_allowed = host_bytes;
  order.flags = flags;
  residency(tenantDir()).order(mine->slot, mine->generation, order);
}

std::uint64_t SwapTest::pinned() {
  const auto mine = place(tenantDir());
  const auto now = shown();
  return mine && now ? ledger::pinnedNow(books(tenantDir()), mine->slot, 0, now->device[0]) : 0;
}

void SwapTest::showPinned(std::uint64_t bytes) {
  ledger::SwapPages pages;
  const auto mine = place(tenantDir());
  ASSERT_TRUE(mine && books(tenantDir()).attached());
  const ledger::ControlHeader& header = books(tenantDir()).pages().control().header;
  ASSERT_EQ(ledger::SwapPages::open(tenantDir().c_str(), header, &pages), ledger::OpenStatus::kOk);
  ledger::storeRelease(pages.swap().lines[mine->slot].device[0].pinned, bytes);
}

std::optional<ledger::SwapSample> SwapTest::shown() {
  const auto mine = place(tenantDir());
  ledger::SwapSample sample;
  if (!mine || !residency(tenantDir()).read(mine->slot, mine->generation, &sample)) return {};
  return sample;
}

std::string SwapTest::said() {
  const auto line = shown();
  if (!line) return "no line";
  const auto of = [](const char* name, std::uint64_t value) {
    return std::string(" ") + name + " " + std::to_string(value);
  };
  const ledger::SwapDevice& first = line->device[0];
  return of("state", line->state) + of("refusal", line->refusal) + of("aborts", line->aborts) +
         of("drains", line->drains) + of("drain_ns", line->drain_ns) + of("out", line->chunks_out) +
         of("in", line->chunks_in) + of("mapped", first.mapped) + of("pinned", first.pinned) +
         of("want", first.want) + of("seen", line->seen_seq);
}

std::vector<std::uint32_t> SwapTest::pattern(std::uint64_t bytes, unsigned seed) {
  std::vector<std::uint32_t> words(bytes / sizeof(std::uint32_t));
  fill(words.data(), words.size(), stateOf(seed));
  return words;
}

CUdeviceptr SwapTest::filled(std::uint64_t bytes, unsigned seed) {
  CUdeviceptr block = 0;
  EXPECT_EQ(cu<Cu::cuMemAlloc_v2>(&block, std::size_t{bytes}), CUDA_SUCCESS);
  const auto words = wordsFor(bytes);
  fill(words.get(), bytes / sizeof(std::uint32_t), stateOf(seed));
  EXPECT_EQ(
      cu<Cu::cuMemcpyHtoD_v2>(block, static_cast<const void*>(words.get()), std::size_t{bytes}),
      CUDA_SUCCESS);
  return block;
}

bool SwapTest::holds(CUdeviceptr block, std::uint64_t bytes, unsigned seed) {
  const auto words = wordsFor(bytes);
  EXPECT_EQ(cu<Cu::cuMemcpyDtoH_v2>(static_cast<void*>(words.get()), block, std::size_t{bytes}),
            CUDA_SUCCESS);
  return follows(words.get(), bytes / sizeof(std::uint32_t), stateOf(seed));
}

std::uint64_t SwapTest::takenUnderWork() {
  const auto view = simgpu::readCard(std::getenv("SIMGPU_DIR"), 0);
  return view ? view->unmapped_under_work : 0;
}

}  // namespace divvy::interposer
