// Conversion between a TenantSpec and the bytes of a control page.
#pragma once

#include "base/result.h"
#include "ledger/tenant_ledger.h"
#include "ledger/work.h"

namespace divvy::ledger {

// kUsage, with the wrong value and the accepted ones.
Result<void> checkSpec(const TenantSpec& spec);

// Writes a complete control page for a checked spec; slots_ready is spec.slots rounded up to a
// chunk.
void writeControl(const TenantSpec& spec, ControlPage& page);

// Writes the report's first 4 KiB for a checked spec.
void writeReportHeader(const TenantSpec& spec, ReportHeader& header);

// Writes the work page's header for a checked spec.
void writeWorkHeader(const TenantSpec& spec, WorkHeader& header);

// Returns the spec of a validated control page.
TenantSpec specOf(const ControlPage& page);

}  // namespace divvy::ledger
