// What agents say of a tenant whose report cannot be.
#pragma once

#include <string_view>

namespace divvy::agent {

// With it TenantView::note begins then; what is wrong follows.
inline constexpr std::string_view kReportNote = "report: ";

}  // namespace divvy::agent
