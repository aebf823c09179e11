#include "ledger/grants.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "files/mapping.h"
#include "files/sigbus_guard.h"
#include "ledger/identification.h"

namespace divvy::ledger {

struct GrantPages::Maps {
  Mapping control;
  Mapping work;

  Grant& grant() const { return control.as<ControlPage>()->header.grant; }
  WorkPage& page() const { return *work.as<WorkPage>(); }
};

namespace {

void storeTerms(Grant& grant, const GrantOptions& terms) {
  storeRelaxed(grant.mode, static_cast<std::uint32_t>(terms.mode));
  storeRelaxed(grant.inflight_us, terms.inflight_us);
  storeRelaxed(grant.quantum_us, terms.quantum_us);
  storeRelaxed(grant.idle_us, terms.idle_us);
  storeRelaxed(grant.overlap_us, terms.overlap_us);
  storeRelaxed(grant.beat_ms, terms.beat_ms);
  storeRelaxed(grant.lease_ms, terms.lease_ms);
  storeRelaxed(grant.escape_ms, terms.escape_ms);
  storeRelaxed(grant.spin_us, terms.spin_us);
  storeRelaxed(grant.card_permille, terms.card_permille);
  storeRelaxed(grant.backend, static_cast<std::uint32_t>(terms.backend));
  storeRelaxed(grant.weight, terms.weight);
  storeRelaxed(grant.reads_turned, terms.reads_turned ? 1u : 0u);
}

void wakeAll(const std::uint32_t& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void copyLine(const WorkLine& line, WorkSample& out) {
  out.state = loadAcquire(line.state);
  out.waiting = loadRelaxed(line.waiting);
  out.seen_seq = loadRelaxed(line.seen_seq);
  out.drained_seq = loadAcquire(line.drained_seq);
  out.inflight_until = loadRelaxed(line.inflight_until);
  out.changed = loadRelaxed(line.changed);
  out.last_launch = loadRelaxed(line.last_launch);
  out.longest = loadRelaxed(line.longest);
  out.launches = loadRelaxed(line.launches);
  out.settles = loadRelaxed(line.settles);
  out.waits = loadRelaxed(line.waits);
  out.throttled = loadRelaxed(line.throttled);
  out.escapes = loadRelaxed(line.escapes);
  out.unmetered = loadRelaxed(line.unmetered);
  out.cpu = loadRelaxed(line.cpu);
  out.turned = loadRelaxed(line.turned);
  for (unsigned dev = 0; dev < kMaxDevices; ++dev) out.busy[dev] = loadRelaxed(line.busy[dev]);
}

}  // namespace

GrantPages::GrantPages(std::unique_ptr<Maps> maps) : maps_(std::move(maps)) {}
GrantPages::GrantPages(GrantPages&&) noexcept = default;
GrantPages& GrantPages::operator=(GrantPages&&) noexcept = default;
GrantPages::~GrantPages() = default;

Result<GrantPages> GrantPages::open(const std::filesystem::path& tenant_dir) {
  const std::string doing = "opening the grant of " + tenant_dir.string();
  Result<Mapping> control = Mapping::open(tenant_dir / "control", sizeof(ControlPage));
  if (!control) return std::move(control.error()).context(doing);
  Identification id{};
  const Result<std::size_t> got = control->copyStart(&id, sizeof id);
  if (!got) return got.error();
  const OpenStatus status =
      checkIdentification(id, kControlMagic, sizeof(ControlPage), control->size());
  if (status != OpenStatus::kOk || (id.features & kFeatureGrant) == 0) {
    return Error(ErrorCode::kUnsupported,
                 doing + (status == OpenStatus::kOk ? ": its pages are of a version without grants"
                                                    : std::string(": ") + openStatusName(status)));
  }
  Result<Mapping> work = Mapping::open(tenant_dir / "work", sizeof(WorkPage));
  if (!work) {
    const ErrorCode code = work.error().code();
    return Error(code == ErrorCode::kNotFound ? ErrorCode::kCorrupt : code,
                 doing + ": " + work.error().message());
  }
  GrantPages pages(std::make_unique<Maps>(Maps{std::move(*control), std::move(*work)}));
  pages.devices_ = pages.maps_->control.as<ControlPage>()->header.device_count;
  return pages;
}

std::uint64_t GrantPages::write(GateState state, const GrantOptions& terms) {
  Grant& grant = maps_->grant();
  const std::uint64_t seq = loadRelaxed(grant.seq) + 1;
  storeTerms(grant, terms);
  // Each change is a heartbeat too, so that no process takes a fresh word for a stale one.
  storeRelaxed(grant.beat, loadRelaxed(grant.beat) + 1);
  storeRelease(grant.seq, seq);
  storeRelease(grant.word, grantWord(state, seq));
  wakeAll(grant.word);
  return seq;
}

void GrantPages::amend(const GrantOptions& terms) {
  storeTerms(maps_->grant(), terms);
}

void GrantPages::beat() {
  Grant& grant = maps_->grant();
  storeRelease(grant.beat, loadRelaxed(grant.beat) + 1);
}

GateState GrantPages::state() const {
  return gateState(loadRelaxed(maps_->grant().word));
}

std::uint64_t GrantPages::seq() const {
  return loadRelaxed(maps_->grant().seq);
}

bool GrantPages::read(unsigned slot, std::uint64_t generation, WorkSample* out) {
  if (slot >= kMaxSlots || broken_) return false;
  const WorkLine& line = maps_->page().lines[slot];
  bool claimed = false;
  const bool intact = guarded(&line, sizeof line, [&] {
    claimed = loadAcquire(line.owner) == generation + 1;
    if (claimed) copyLine(line, *out);
  });
  if (!intact) broken_ = true;
  return intact && claimed;
}

const std::uint32_t* GrantPages::bell() const {
  return &maps_->page().header.bell;
}

std::uint32_t GrantPages::bellValue() {
  std::uint32_t value = 0;
  const std::uint32_t& word = maps_->page().header.bell;
  if (broken_) return 0;
  if (!guarded(&word, sizeof word, [&] { value = loadAcquire(word); })) broken_ = true;
  return value;
}

}  // namespace divvy::ledger
