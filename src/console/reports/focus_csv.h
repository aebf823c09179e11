// The cost of shares in the columns of FOCUS 1.0, the FinOps Open Cost and Usage Specification.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "history/records.h"
#include "reports/usage_sums.h"

namespace divvy::console {

// A share on one day of UTC.
struct FocusRow {
  std::int64_t first_hour = 0;  // since 1970: the start of the day
  std::string share;            // its identifier
  history::ObjectRecord record;
  NanoHours allocated = 0;
  history::MicroUnits charged = 0;
};

// Returns a header line and a line for each row (RFC 4180), with the columns of FOCUS that apply to
// a share. BilledCost, ContractedCost, EffectiveCost and ListCost are equal. Namespace, team, queue
// and owner are in Tags, a JSON object. `account`: the cluster's or machine's name. `currency`: not
// empty. Source: https://focus.finops.org/focus-specification/v1-0/
std::string focusCsv(const std::vector<FocusRow>& rows, const std::string& account,
                     const std::string& currency);

}  // namespace divvy::console
