#include "ledger/residency_pages.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "files/mapping.h"
#include "files/sigbus_guard.h"

namespace divvy::ledger {

struct ResidencyPages::Maps {
  Mapping residency;
  Mapping swap;

  ResidencyPage& orders() const { return *residency.as<ResidencyPage>(); }
  SwapPage& reports() const { return *swap.as<SwapPage>(); }
};

namespace {

void copyDevice(const SwapDevice& from, SwapDevice& to) {
  to.swappable = loadRelaxed(from.swappable);
  to.mapped = loadRelaxed(from.mapped);
  to.pinned = loadRelaxed(from.pinned);
  to.want = loadRelaxed(from.want);
  to.out_bytes = loadRelaxed(from.out_bytes);
  to.in_bytes = loadRelaxed(from.in_bytes);
  to.out_ns = loadRelaxed(from.out_ns);
  to.in_ns = loadRelaxed(from.in_ns);
}

void copyLine(const SwapLine& line, SwapSample& out) {
  // The reported bytes are at least as old as the reported state.
  for (unsigned dev = 0; dev < kMaxDevices; ++dev) copyDevice(line.device[dev], out.device[dev]);
  out.host_bytes = loadRelaxed(line.host_bytes);
  out.host_want = loadRelaxed(line.host_want);
  out.pin_reasons = loadRelaxed(line.pin_reasons);
  out.last_need = loadRelaxed(line.last_need);
  out.chunks_out = loadRelaxed(line.chunks_out);
  out.chunks_in = loadRelaxed(line.chunks_in);
  out.aborts = loadRelaxed(line.aborts);
  out.drains = loadRelaxed(line.drains);
  out.drain_ns = loadRelaxed(line.drain_ns);
  out.pressure_waits = loadRelaxed(line.pressure_waits);
  out.self_helped = loadRelaxed(line.self_helped);
  out.pressure_refusals = loadRelaxed(line.pressure_refusals);
  out.state = loadAcquire(line.state);
  out.refusal = loadRelaxed(line.refusal);
  out.seen_seq = loadAcquire(line.seen_seq);
  out.changed = loadRelaxed(line.changed);
}

void copyOrder(const ResidencyLine& line, ResidencyOrder& out) {
  for (unsigned dev = 0; dev < kMaxDevices; ++dev) {
    out.allowed[dev] = loadRelaxed(line.allowed[dev]);
    out.most[dev] = loadRelaxed(line.most[dev]);
  }
  out.host_allowed = loadRelaxed(line.host_allowed);
  out.flags = loadRelaxed(line.flags);
  out.reason = static_cast<ResidencyReason>(loadRelaxed(line.reason));
}

void writeOrder(const ResidencyOrder& order, std::uint64_t generation, ResidencyLine& line) {
  // While it is written, an order to another process of this slot must not apply to this one.
  if (loadRelaxed(line.owner) != generation + 1) storeRelease(line.owner, std::uint64_t{0});
  for (unsigned dev = 0; dev < kMaxDevices; ++dev) {
    storeRelaxed(line.allowed[dev], order.allowed[dev]);
    storeRelaxed(line.most[dev], order.most[dev]);
  }
  storeRelaxed(line.host_allowed, order.host_allowed);
  storeRelaxed(line.flags, order.flags);
  storeRelaxed(line.reason, static_cast<std::uint32_t>(order.reason));
  storeRelease(line.seq, loadRelaxed(line.seq) + 1);
  storeRelease(line.owner, generation + 1);
}

}  // namespace

ResidencyPages::ResidencyPages(std::unique_ptr<Maps> maps) : maps_(std::move(maps)) {}
ResidencyPages::ResidencyPages(ResidencyPages&&) noexcept = default;
ResidencyPages& ResidencyPages::operator=(ResidencyPages&&) noexcept = default;
ResidencyPages::~ResidencyPages() = default;

Result<ResidencyPages> ResidencyPages::open(const std::filesystem::path& tenant_dir) {
  const std::string doing = "opening the residency of " + tenant_dir.string();
  Result<Mapping> residency = Mapping::open(tenant_dir / "residency", sizeof(ResidencyPage));
  if (!residency) return std::move(residency.error()).context(doing);
  Result<Mapping> swap = Mapping::open(tenant_dir / "swap", sizeof(SwapPage));
  if (!swap) return std::move(swap.error()).context(doing);
  return ResidencyPages(std::make_unique<Maps>(Maps{std::move(*residency), std::move(*swap)}));
}

std::uint64_t ResidencyPages::order(unsigned slot, std::uint64_t generation,
                                    const ResidencyOrder& order) {
  if (slot >= kMaxSlots) return 0;
  ResidencyPage& page = maps_->orders();
  ResidencyOrder before;
  if (readOrder(slot, generation, &before) && before == order)
    return loadRelaxed(page.lines[slot].seq);
  writeOrder(order, generation, page.lines[slot]);
  storeRelease(page.header.bell, loadRelaxed(page.header.bell) + 1);
  syscall(SYS_futex, &page.header.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return loadRelaxed(page.lines[slot].seq);
}

bool ResidencyPages::readOrder(unsigned slot, std::uint64_t generation, ResidencyOrder* out) const {
  if (slot >= kMaxSlots) return false;
  const ResidencyLine& line = maps_->orders().lines[slot];
  if (loadAcquire(line.owner) != generation + 1) return false;
  copyOrder(line, *out);
  return true;
}

bool ResidencyPages::read(unsigned slot, std::uint64_t generation, SwapSample* out) {
  if (slot >= kMaxSlots || broken_) return false;
  const SwapLine& line = maps_->reports().lines[slot];
  bool claimed = false;
  const bool intact = guarded(&line, sizeof line, [&] {
    claimed = loadAcquire(line.owner) == generation + 1;
    if (claimed) copyLine(line, *out);
  });
  if (!intact) broken_ = true;
  return intact && claimed;
}

}  // namespace divvy::ledger
