// The note of a tenant with an inconsistent report.
#pragma once

#include <string_view>

namespace divvy::agent {

// Prefix of TenantView::note in that case; the inconsistencies follow.
inline constexpr std::string_view kReportNote = "report: ";

}  // namespace divvy::agent
