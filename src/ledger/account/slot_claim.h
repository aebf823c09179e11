// Taking a slot for this process and telling the agent.
#pragma once

#include "account/process_state.h"
#include "ledger/packed_words.h"
#include "ledger/pages.h"

namespace divvy::ledger {

// Cleans up what this process had before it called exec: its pid and start time are still the same,
// so to the agent it never died, but the program that held the bytes is gone.
void reapOwnPast(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id);

// Takes a free slot by one compare-and-swap of its whole state. Returns the claim word, 0 when no
// slot below slots_ready is free.
std::uint64_t claimSlotFor(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id);

// Gives back a slot in which nothing was ever reserved.
void abandonSlot(const TenantPages& pages, std::uint64_t claim, const Owner& owner);

// Best effort and never blocking: one packet with a pidfd of this process to the agent. False when
// it could not be delivered; the agent then finds the slot by looking through them.
bool announce(const TenantPages& pages, unsigned slot, std::uint64_t generation, std::uint32_t pid);

// Asks the agent for more slots and waits at most 100 ms of its own running time for one, new or
// freed meanwhile. Returns the claim word, 0 when there was none or none can be added.
std::uint64_t awaitSlotFor(const TenantPages& pages, const Owner& owner, std::uint64_t exec_id);

}  // namespace divvy::ledger
