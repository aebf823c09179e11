#include "nvml/tenant_processes.h"

#include <poll.h>
#include <time.h>

#include "support/fixed_string.h"

namespace divvy::interposer {
namespace {

constexpr unsigned kStartField = 22;  // of /proc/PID/stat (proc(5)); the name is field 2
constexpr long kSysPidfdOpen = 434;   // one number on all architectures, missing in older headers

void appendNumber(FixedString<32>& text, std::uint32_t number) {
  char digits[11];
  unsigned at = sizeof digits - 1;
  digits[at] = '\0';
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  text.append(digits + at);
}

// In the form of an owner word; 0 if /proc does not have it.
std::uint64_t startTime(std::uint32_t pid) {
  FixedString<32> path;
  path.append("/proc/");
  appendNumber(path, pid);
  path.append("/stat");
  char stat[1024];
  const int fd = sys::openRead(path.c_str());
  if (fd < 0) return 0;
  const long size = ::syscall(SYS_read, fd, stat, sizeof stat);
  sys::close(fd);
  // The name may contain anything, so fields are counted from the closing parenthesis.
  long at = size;
  while (at > 0 && stat[at - 1] != ')') --at;
  std::uint64_t start = 0;
  for (unsigned field = 2; at > 0 && at < size && field <= kStartField; ++at) {
    if (stat[at] == ' ') {
      ++field;
    } else if (field == kStartField) {
      start = start * 10 + static_cast<unsigned>(stat[at] - '0');
    }
  }
  return ledger::unpackOwner(ledger::packOwner({pid, start})).start;
}

// A process that outlives its leader thread is a zombie in /proc, but not through its pidfd.
bool hasEnded(std::uint32_t pid) {
  const int fd = static_cast<int>(::syscall(kSysPidfdOpen, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd poller{fd, POLLIN, 0};
  const timespec no_time{};
  const bool ended = ::syscall(SYS_ppoll, &poller, 1, &no_time, nullptr, 0) == 1;
  sys::close(fd);
  return ended;
}

}  // namespace

bool ownerSeemsAlive(const ledger::Owner& owner) {
  const std::uint64_t start = startTime(owner.pid);
  if (owner.start != 0 && start != 0 && start != owner.start) return false;
  return !hasEnded(owner.pid);
}

TenantProcesses::TenantProcesses(const ledger::Account& account) : rows_(ledger::kMaxSlots) {
  account.forEachLiveSlot([this](const ledger::LiveProcess& process) {
    if (count_ == rows_.capacity() || !ownerSeemsAlive(process.owner)) return;
    rows_.rows()[count_++] = {process.owner.pid, process.host_pid, process.slot};
  });
}

const TenantProcess* TenantProcesses::byPid(std::uint32_t pid) const {
  for (unsigned i = 0; i < count_; ++i) {
    if (rows_.rows()[i].pid == pid) return &rows_.rows()[i];
  }
  return nullptr;
}

const TenantProcess* TenantProcesses::byHostPid(std::uint32_t host_pid) const {
  for (unsigned i = 0; i < count_ && host_pid != 0; ++i) {
    if (rows_.rows()[i].host_pid == host_pid) return &rows_.rows()[i];
  }
  return nullptr;
}

}  // namespace divvy::interposer
