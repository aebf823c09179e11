// The swap settings of a tenant, and their files.
#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <memory>

#include "files/mapping.h"
#include "files/new_file.h"
#include "files/sigbus_guard.h"
#include "ledger/swap.h"
#include "ledger/tenant_ledger.h"

namespace divvy::ledger {
namespace {

constexpr Bytes kMinChunk = kib(64);
constexpr Bytes kMaxChunk = mib(256);
constexpr std::uint32_t kMaxAhead = 16;

Result<void> check(const SwapSpec& spec, std::size_t devices) {
  if (spec.devices.size() != devices) {
    return Error(ErrorCode::kUsage, "terms of swapping for " + std::to_string(spec.devices.size()) +
                                        " devices, the tenant has " + std::to_string(devices));
  }
  if (!std::has_single_bit(spec.chunk.count) || spec.chunk < kMinChunk || spec.chunk > kMaxChunk) {
    return Error(ErrorCode::kUsage, "chunk size: a power of two from 64Ki to 256Mi is accepted");
  }
  if (spec.ahead == 0 || spec.ahead > kMaxAhead) {
    return Error(ErrorCode::kUsage, "copies in flight: 1 to 16 are accepted");
  }
  return {};
}

bool anySwappable(const SwapSpec& spec) {
  for (const SwapSpec::Device& device : spec.devices) {
    if (device.swappable) return true;
  }
  return false;
}

// Memory that was allocated as swappable stays swappable.
void writeTerms(const SwapSpec& spec, ControlPage& page) {
  SwapTerms& terms = page.header.swap;
  const bool on = anySwappable(spec) || (loadRelaxed(terms.flags) & kSwapOn) != 0;
  storeRelaxed(terms.drain_ms, spec.drain_ms);
  storeRelaxed(terms.chunk_bytes, spec.chunk.count);
  storeRelaxed(terms.silent_ms, spec.silent_ms);
  storeRelaxed(terms.pressure_ms, spec.pressure_ms);
  storeRelaxed(terms.ahead, spec.ahead);
  storeRelaxed(terms.room_ms, spec.room_ms);
  storeRelease(terms.flags, (on ? kSwapOn : 0) | (spec.host_map ? kSwapHostMap : 0));
  for (std::size_t dev = 0; dev < spec.devices.size(); ++dev) {
    DeviceSwapTerms& device = page.devices[dev].swap;
    storeRelaxed(device.overcommit_permille, spec.devices[dev].overcommit_permille);
    storeRelaxed(device.budget_bytes, spec.devices[dev].budget.count);
    storeRelease(device.swappable, std::uint32_t{spec.devices[dev].swappable});
  }
}

Identification identify(const ControlHeader& control, std::uint64_t magic, std::uint64_t size) {
  Identification id = control.id;
  id.magic = magic;
  id.size = size;
  return id;
}

// Written completely under another name first, so that a reader never finds a partial file.
Result<void> makeFile(int dir, const NewFile& file) {
  const std::string fresh = std::string(".") + file.name;
  unlinkat(dir, fresh.c_str(), 0);
  NewFile hidden = file;
  hidden.name = fresh.c_str();
  if (Result<void> written = writeFile(dir, hidden); !written) {
    unlinkat(dir, fresh.c_str(), 0);
    return written;
  }
  if (renameat(dir, fresh.c_str(), dir, file.name) == 0) return {};
  const int code = errno;
  unlinkat(dir, fresh.c_str(), 0);
  return ioError(std::string("naming ") + file.name, code);
}

}  // namespace

void TenantLedger::openSwap() {
  Result<Mapping> residency = Mapping::open(dir_ / "residency", sizeof(ResidencyPage));
  if (!residency) return;
  Result<Mapping> swap = Mapping::open(dir_ / "swap", sizeof(SwapPage));
  if (!swap) return;
  residency_ = std::make_unique<Mapping>(std::move(residency).value());
  swap_ = std::make_unique<Mapping>(std::move(swap).value());
}

Result<void> TenantLedger::makeSwapFiles(const SipKey& ipc_key) {
  if (swap_ != nullptr) return {};
  const ControlHeader& control = this->control().header;
  ResidencyHeader residency{};
  residency.id = identify(control, kResidencyMagic, sizeof(ResidencyPage));
  residency.ipc_key[0] = ipc_key.words[0];
  residency.ipc_key[1] = ipc_key.words[1];
  SwapHeader swap{};
  swap.id = identify(control, kSwapMagic, sizeof(SwapPage));
  for (std::size_t i = 0; i < sizeof control.tenant_id; ++i) {
    residency.tenant_id[i] = swap.tenant_id[i] = control.tenant_id[i];
  }
  const int dir = open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return ioError("opening " + dir_.string(), errno);
  Result<void> made = makeFile(dir, {"residency", 0644, &residency, sizeof residency,
                                     sizeof(ResidencyPage), residencyBytes(spec_.slots)});
  if (made) {
    made =
        makeFile(dir, {"swap", 0666, &swap, sizeof swap, sizeof(SwapPage), swapBytes(spec_.slots)});
  }
  close(dir);
  if (!made) return made;
  openSwap();
  if (swap_ == nullptr) return Error(ErrorCode::kIo, "the files for swapping cannot be opened");
  return {};
}

SipKey TenantLedger::ipcKey() const {
  if (residency_ == nullptr) return {};
  const ResidencyHeader& header = residency_->as<ResidencyPage>()->header;
  return {{header.ipc_key[0], header.ipc_key[1]}};
}

Result<void> TenantLedger::setSwap(const SwapSpec& spec) {
  const std::string doing = "terms of swapping of tenant " + spec_.id;
  if (Result<void> good = check(spec, spec_.devices.size()); !good) {
    return std::move(good).error().context(doing);
  }
  if (anySwappable(spec)) {
    Result<void> made = makeSwapFiles(spec.ipc_key);
    if (!made) return std::move(made).error().context(doing);
  }
  if (!guarded(&control(), sizeof(ControlPage), [&] { writeTerms(spec, control()); })) {
    return Error(ErrorCode::kCorrupt, "the control file was truncated");
  }
  return {};
}

}  // namespace divvy::ledger
