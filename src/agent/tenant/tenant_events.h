// Events of shares: tenant, devices, time and request. Pure. Private.
//
// `by`: the requester, in words; empty: none, or unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/protocol.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

EventView givenEvent(const TenantRecord& record, std::string by);
// Nothing: no limit differs.
std::optional<EventView> changedEvent(const TenantRecord& before, const TenantRecord& now,
                                      std::string by);
// A change was requested and refused.
EventView unchangedEvent(const TenantRecord& record, std::string reason, std::string by);
EventView endedEvent(const TenantRecord& record, std::int64_t now_ms);
// A request was refused and no tenant was made. `name`: the tenant's name, or its substitute.
EventView turnedAwayEvent(std::string name, std::string reason, std::string by);

// Words for a process that sent its request itself.
std::string processWord(int pid, const std::string& user);

}  // namespace divvy::agent
