// What became of shares, for whoever asks later who had what, and at whose word. Pure. Private.
//
// `by`: who asked for it, in words; empty: nobody did, or it is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/protocol.h"
#include "tenant/tenant_record.h"

namespace divvy::agent {

EventView givenEvent(const TenantRecord& record, std::string by);
// None: it has what it had.
std::optional<EventView> changedEvent(const TenantRecord& before, const TenantRecord& now,
                                      std::string by);
// It was asked for, and is not so.
EventView unchangedEvent(const TenantRecord& record, std::string reason, std::string by);
EventView endedEvent(const TenantRecord& record, std::int64_t now_ms);
// Somebody got nothing, and no tenant was made. `name`: what it is called, or was to be.
EventView turnedAwayEvent(std::string name, std::string reason, std::string by);

// A process that asked us itself.
std::string processWord(int pid, const std::string& user);

}  // namespace divvy::agent
