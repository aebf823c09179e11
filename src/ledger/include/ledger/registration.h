// The packets of the registration socket (SOCK_SEQPACKET). A process that has claimed a slot sends
// one packet, with its pidfd as SCM_RIGHTS; the agent does not receive the pidfd. The sender does
// not wait for the reply, and the agent may leave it out.
#pragma once

#include <cstdint>

#include "ledger/layout.h"

namespace divvy::ledger {

inline constexpr std::uint32_t kRegisterMagic = 0x47525644;  // "DVRG" in the packet
inline constexpr std::uint32_t kRegisterVersion = 1;
// Used as `slot`: no slot below slots_ready was free; asks the agent to preallocate more.
inline constexpr std::uint32_t kWantMoreSlots = kMaxSlots;

// Every field is a claim by the tenant. The agent checks the slot's state word and SO_PEERCRED
// before it accepts any.
struct RegisterPacket {
  std::uint32_t magic;
  std::uint32_t version;
  char tenant_id[32];
  std::uint32_t slot;
  std::uint32_t pid;  // in the sender's pid namespace
  std::uint64_t generation;
  std::uint64_t reserved;
};
static_assert(sizeof(RegisterPacket) == 64);

enum class RegisterStatus : std::uint32_t { kOk = 0, kUnknownTenant = 1, kBadSlot = 2, kBusy = 3 };

struct RegisterReply {
  std::uint32_t magic;
  RegisterStatus status;
  std::uint32_t host_pid;
  std::uint32_t reserved;
};
static_assert(sizeof(RegisterReply) == 16);

}  // namespace divvy::ledger
