// Between a TenantSpec and the bytes of a control page.
#pragma once

#include "base/result.h"
#include "ledger/tenant_ledger.h"
#include "ledger/work.h"

namespace divvy::ledger {

// kUsage with what is wrong and what is accepted.
Result<void> checkSpec(const TenantSpec& spec);

// A complete control page for a checked spec; slots_ready is spec.slots rounded up to a chunk.
void writeControl(const TenantSpec& spec, ControlPage& page);

// The report's first 4 KiB for a checked spec.
void writeReportHeader(const TenantSpec& spec, ReportHeader& header);

// The work page's head for a checked spec.
void writeWorkHeader(const TenantSpec& spec, WorkHeader& header);

// The spec that a validated control page stands for.
TenantSpec specOf(const ControlPage& page);

}  // namespace divvy::ledger
