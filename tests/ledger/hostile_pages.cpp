#include "hostile_pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "ledger/account.h"
#include "ledger/tenant_ledger.h"

namespace divvy::ledger {
namespace {

constexpr std::size_t kReportBytes = offsetof(ReportPage, slots) + kSlotChunk * sizeof(Slot);
constexpr std::size_t kControlBytes = offsetof(ControlPage, devices) + 2 * sizeof(DeviceControl);
// Header, devices and the slots in use: a random offset hits something that matters.
constexpr std::size_t kTouchedBytes = offsetof(ReportPage, slots) + 6 * sizeof(Slot);
constexpr std::uint64_t kPhysical = 80ull << 30;

// What has to hold for an operation that somebody was killed in.
void cutOff(Slot& slot, unsigned lane, std::uint32_t word, bool committed) {
  Lane& target = slot.lanes[lane];
  target.seq = target.done + 1;
  target.used_after = target.used[0] + 77;
  target.device = 0;
  target.word = word;
  if (committed) slot.committed[lane] = target.seq;
}

// Directory, files and contents that every run starts from. Made once per process.
class Template {
 public:
  static Template& instance() {
    static Template made;
    return made;
  }

  const std::filesystem::path& dir() const { return dir_; }

  void write(const std::vector<char>& control, const std::vector<char>& report,
             std::size_t report_size) const {
    put(control_fd_, control, sizeof(ControlPage));
    put(report_fd_, report, report_size);
  }

  const std::vector<char>& control() const { return control_; }
  const std::vector<char>& report() const { return report_; }

 private:
  Template() {
    // Rewritten thousands of times a minute: in memory where there is such a place.
    std::string pattern = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    pattern += "/divvy-hostile-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    parent_ = pattern;
    dir_ = parent_ / "t";
    live();
    control_fd_ = open((dir_ / "control").c_str(), O_RDWR | O_CLOEXEC);
    report_fd_ = open((dir_ / "report").c_str(), O_RDWR | O_CLOEXEC);
    control_.resize(sizeof(ControlPage));
    report_.resize(kReportBytes);
    if (pread(control_fd_, control_.data(), control_.size(), 0) < 0) std::abort();
    if (pread(report_fd_, report_.data(), report_.size(), 0) < 0) std::abort();
  }
  ~Template() {
    close(control_fd_);
    close(report_fd_);
    std::error_code ignored;
    std::filesystem::remove_all(parent_, ignored);
  }

  // Two devices, four slots: at work, with spare bytes, cut off before and after commit.
  void live() {
    TenantSpec spec;
    spec.id = "hostile";
    for (const char* uuid : {"GPU-1", "GPU-2"}) {
      DeviceSpec device;
      device.uuid = uuid;
      device.ceiling = {8ull << 30};
      device.physical = {kPhysical};
      spec.devices.push_back(device);
    }
    spec.slots = kSlotChunk;
    const Result<TenantLedger> made = TenantLedger::create(dir_, spec);
    if (!made) std::abort();
    TenantPages pages;
    if (TenantPages::open(dir_.c_str(), &pages) != OpenStatus::kOk) std::abort();
    Account accounts[4];
    for (Account& account : accounts) {
      account.attach(pages);
      for (unsigned dev = 0; dev < 2; ++dev) account.reserve(dev, 100 << 20);
      account.release(0, 10 << 20);
    }
    accounts[0].fault(FaultCode::kOverRelease, 1, 2, 3);
    ReportPage& page = pages.report();
    cutOff(page.slots[1], 1, 0, true);
    cutOff(page.slots[2], 2, 1, false);
    pages.close();
  }

  static void put(int fd, const std::vector<char>& bytes, std::size_t size) {
    // Cut first: what stood behind `size` in the last run is gone.
    if (ftruncate(fd, 0) != 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) std::abort();
    const std::size_t length = std::min(bytes.size(), size);
    if (pwrite(fd, bytes.data(), length, 0) != static_cast<ssize_t>(length)) std::abort();
  }

  std::filesystem::path parent_;
  std::filesystem::path dir_;
  int control_fd_ = -1;
  int report_fd_ = -1;
  std::vector<char> control_;
  std::vector<char> report_;
};

struct Edited {
  std::vector<char> control;
  std::vector<char> report;
  std::size_t report_size = sizeof(ReportPage);
};

Edited edit(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kEditBytes = 12;
  Edited out{Template::instance().control(), Template::instance().report()};
  for (; size >= kEditBytes; data += kEditBytes, size -= kEditBytes) {
    const std::size_t offset = 8 * (data[1] | data[2] << 8 | std::size_t{data[3]} << 16);
    std::uint64_t value = 0;
    std::memcpy(&value, data + 4, sizeof value);
    char* control = out.control.data() + offset % kControlBytes;
    char* report = out.report.data() + offset % kTouchedBytes;
    std::uint64_t word = 0;
    switch (data[0] & 3) {
      case 0:
        std::memcpy(control, &value, sizeof value);
        break;
      case 1:
        std::memcpy(report, &value, sizeof value);
        break;
      case 2:
        std::memcpy(&word, report, sizeof word);
        word ^= 1ull << (value % 64);
        std::memcpy(report, &word, sizeof word);
        break;
      default:
        out.report_size = offset % (sizeof(ReportPage) + 8);
        break;
    }
  }
  return out;
}

std::string judgeSnapshot(const ReportSnapshot& seen, const TenantSpec& spec) {
  if (seen.devices.size() != spec.devices.size()) return "number of devices";
  for (std::size_t dev = 0; dev < seen.devices.size(); ++dev) {
    const std::uint64_t physical = spec.devices[dev].physical.count;
    // A ceiling may be above what the card has: memory can be oversubscribed.
    const std::uint64_t ceiling = spec.devices[dev].ceiling.count;
    const std::uint64_t most = physical != 0 ? std::max(physical, ceiling) : INT64_MAX;
    const DeviceUse& use = seen.devices[dev];
    if (use.admitted.count > most || use.total > use.admitted) return "admitted bytes";
    if (use.spare.count > most || use.resident.count > most) return "spare bytes";
    for (const SlotSnapshot& slot : seen.slots) {
      if (slot.used[dev].count > most || slot.spare[dev].count > most) return "bytes of a slot";
    }
  }
  if (seen.slots.size() + seen.free_slots > spec.slots) return "number of slots";
  for (const SlotSnapshot& slot : seen.slots) {
    if (slot.slot >= spec.slots) return "slot index";
    if (slot.phase == Phase::kFree || slot.phase > Phase::kRetired) return "phase";
  }
  if (seen.faults.size() > kFaultEntries) return "number of faults";
  return {};
}

std::string judgeAgent() {
  Result<TenantLedger> ledger = TenantLedger::adopt(Template::instance().dir());
  if (!ledger) return ledger.error().message().empty() ? "an error without words" : "";
  const Result<ReportSnapshot> seen = ledger->readReport();
  if (!seen) return "readReport: " + seen.error().message();
  std::string wrong = judgeSnapshot(*seen, ledger->spec());
  if (!wrong.empty()) return wrong;
  (void)suspicionNames(seen->suspicions);
  for (const SlotSnapshot& slot : seen->slots) {
    (void)ledger->adoptSlot(slot.slot, slot.generation, 1).has_value();
    const Result<ReapResult> reaped = ledger->reap(slot.slot, slot.generation);
    if (!reaped && reaped.error().code() != ErrorCode::kCorrupt) return reaped.error().message();
    if (reaped && reaped->outcome == ReapOutcome::kAlreadyFree && slot.phase != Phase::kRetired) {
      return "a slot that is neither freed nor retired";
    }
  }
  (void)ledger->setMemory(0, {1}, {1}).has_value();
  (void)ledger->ensureFreeSlots(1).has_value();
  const Result<ReportSnapshot> after = ledger->readReport();
  return after ? judgeSnapshot(*after, ledger->spec()) : after.error().message();
}

// Its own files: wrong numbers are the tenant's affair, but nothing may crash or hang.
void exerciseTenant() {
  TenantPages pages;
  if (TenantPages::open(Template::instance().dir().c_str(), &pages) != OpenStatus::kOk) return;
  Account account;
  account.attach(pages);
  for (unsigned dev = 0; dev < pages.deviceCount(); ++dev) {
    const bool granted = account.reserve(dev, 4096) == Admission::kGranted;
    (void)account.free(dev);
    (void)account.total(dev);
    if (granted) account.release(dev, 4096);
    account.release(dev, 1);
  }
  std::uint64_t sum = 0;
  account.forEachLiveSlot(
      [&](const LiveProcess& process) { sum += account.processUsed(process.slot, 0); });
  pages.close();
}

}  // namespace

std::string judgeHostilePages(const std::uint8_t* data, std::size_t size) {
  const Edited edited = edit(data, size);
  Template& files = Template::instance();
  files.write(edited.control, edited.report, edited.report_size);
  if (edited.report_size == sizeof(ReportPage)) exerciseTenant();
  files.write(edited.control, edited.report, edited.report_size);
  return judgeAgent();
}

}  // namespace divvy::ledger
