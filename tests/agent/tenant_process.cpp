// Acts as a tenant's process without any interposer: claims a slot, reserves bytes, stays.
//   tenant_process [--dir DIR] BYTES...
// For each BYTES prints "held BYTES" or "refused BYTES"; then reads commands from stdin, one per
// line:
//   reserve BYTES | full BYTES | release BYTES | ceiling | total | quit      (end of input: quit)
// `full`: the driver has no memory for a request within the limit.
// On quit it ends without giving anything back, as a crashing program does.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ledger/account.h"
#include "ledger/refusal.h"

namespace {

using divvy::ledger::Account;
using divvy::ledger::Admission;

Account account;

void reserve(std::uint64_t bytes) {
  const bool held = account.reserve(0, bytes) == Admission::kGranted;
  if (!held) divvy::ledger::noteOverLimit(account, bytes);
  std::printf("%s %" PRIu64 "\n", held ? "held" : "refused", bytes);
}

bool obey(const std::string& line) {
  const std::size_t space = line.find(' ');
  const std::uint64_t bytes =
      space == std::string::npos ? 0 : std::strtoull(line.c_str() + space, nullptr, 10);
  if (line.starts_with("reserve")) {
    reserve(bytes);
  } else if (line.starts_with("full")) {
    divvy::ledger::noteDeviceFull(account, bytes);
    std::printf("full %" PRIu64 "\n", bytes);
  } else if (line.starts_with("release")) {
    account.release(0, bytes);
    std::printf("released %" PRIu64 "\n", bytes);
  } else if (line.starts_with("ceiling")) {
    std::printf("ceiling %" PRIu64 "\n", account.ceiling(0));
  } else if (line.starts_with("total")) {
    std::printf("total %" PRIu64 "\n", account.total(0));
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int next = 1;
  const char* dir = divvy::ledger::findTenantDir();
  if (argc > 2 && std::strcmp(argv[1], "--dir") == 0) {
    dir = argv[2];
    next = 3;
  }
  divvy::ledger::TenantPages pages;
  if (dir == nullptr ||
      divvy::ledger::TenantPages::open(dir, &pages) != divvy::ledger::OpenStatus::kOk ||
      !account.attach(pages)) {
    std::puts("no tenant");
    return 1;
  }
  for (; next < argc; ++next) reserve(std::strtoull(argv[next], nullptr, 10));
  char line[128];
  while (std::fgets(line, sizeof line, stdin) != nullptr && obey(line)) {
  }
  std::_Exit(0);
}
