// The contents of a registration packet, before its sender is known. Private.
#pragma once

#include <cstring>
#include <string>

#include <sys/types.h>

#include "ledger/registration.h"

namespace divvy::agent {

// Whether `got` received bytes are a packet of a known version. Its fields are unverified.
inline bool isRegisterPacket(const ledger::RegisterPacket& packet, ssize_t got) {
  return got == static_cast<ssize_t>(sizeof packet) && packet.magic == ledger::kRegisterMagic &&
         packet.version == ledger::kRegisterVersion;
}

inline std::string tenantOf(const ledger::RegisterPacket& packet) {
  return std::string(packet.tenant_id, strnlen(packet.tenant_id, sizeof packet.tenant_id));
}

}  // namespace divvy::agent
