// Claims a slot for this process and registers it with the agent.
#pragma once

#include "account/process_state.h"
#include "ledger/packed_words.h"
#include "ledger/pages.h"

namespace divvy::ledger {

// Reaps the slots that this process had before it called exec. Its pid and start time are
// unchanged, so for the agent it never ended, but the program image that held the bytes no longer
// exists.
void reapOwnPast(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id);

// Takes a free slot by one compare-and-swap of its whole state. Returns the claim word; 0 if no
// slot below slots_ready is free.
std::uint64_t claimSlotFor(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id);

// Gives back a slot in which nothing was ever reserved.
void abandonSlot(const TenantPages& pages, std::uint64_t claim, const Owner& owner);

// Sends one packet with a pidfd of this process to the agent; never blocks. Returns false if it
// could not be delivered. The agent then finds the slot by searching all slots.
bool announce(const TenantPages& pages, unsigned slot, std::uint64_t generation, std::uint32_t pid);

// Asks the agent for more slots, and waits for a new or freed slot for at most 100 ms of the
// caller's running time. Returns the claim word; 0 if there was no slot, or none can be added.
std::uint64_t awaitSlotFor(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id);

}  // namespace divvy::ledger
