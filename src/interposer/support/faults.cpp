#include "support/faults.h"

#include "runtime.h"

namespace divvy::interposer {

void noteFault(Fault fault, std::uint32_t site, std::uint64_t detail, std::uint64_t arg) {
  const auto code = static_cast<unsigned>(fault);
  runtime().fault_counts[code].fetch_add(1, std::memory_order_relaxed);
  if (runtime().tenant.ready()) {
    runtime().tenant.account().fault(static_cast<ledger::FaultCode>(code), site, detail, arg);
  }
}

}  // namespace divvy::interposer
