#include "view/memory_notes.h"

#include <algorithm>

#include "view/table.h"

namespace divvy::cli {
namespace {

// Seconds; a tenant counts as idle after this time.
constexpr std::uint64_t kIdle = 60;
constexpr unsigned kOnce = 1000;  // permille

std::string msWord(std::uint64_t ms) {
  return timeWord(ms * 1000);
}

std::string devicesOf(const agent::TenantView& tenant) {
  std::string text = tenant.shares.size() == 1 ? "device " : "devices ";
  for (std::size_t i = 0; i < tenant.shares.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(tenant.shares[i].device);
  return text;
}

std::uint64_t swappedOf(const agent::TenantView& tenant) {
  std::uint64_t sum = 0;
  for (const agent::ShareView& share : tenant.shares) sum += share.swapped;
  return sum;
}

bool swappedOut(const agent::TenantView& tenant) {
  return swappedOf(tenant) != 0;
}

// A context exists in each process, so it is not mentioned.
std::string pinsOf(const agent::TenantView& tenant) {
  std::string text;
  for (const std::string& pin : tenant.pinned_by)
    if (pin != "context") text += (text.empty() ? "" : ", ") + pin;
  return text;
}

// Milliseconds until another tenant's turn there has ended and its memory is swapped out; 0:
// unknown.
std::uint64_t nextTurn(const agent::TenantView& tenant, const agent::Snapshot& node) {
  std::uint64_t next = 0;
  for (const agent::ShareView& share : tenant.shares) {
    std::uint64_t left = 0;
    for (const agent::TenantView& other : node.tenants) {
      const bool here =
          std::any_of(other.shares.begin(), other.shares.end(),
                      [&](const agent::ShareView& its) { return its.uuid == share.uuid; });
      if (other.id != tenant.id && here) left = std::max(left, other.turn_left_ms);
    }
    for (const agent::DeviceView& device : node.devices)
      if (device.uuid == share.uuid && left != 0) left += device.swap_predicted_ms;
    next = std::max(next, left);
  }
  return next;
}

const agent::TenantView* borrowerOf(const agent::TenantView& tenant, const agent::Snapshot& node) {
  for (const agent::TenantView& other : node.tenants)
    if (other.id == tenant.lent_to) return &other;
  return nullptr;
}

std::string labelOf(const agent::TenantView& tenant) {
  return tenant.name.empty() ? tenant.id : tenant.name;
}

bool yields(const agent::TenantView& tenant) {
  return tenant.memory == "waiting" && tenant.memory_reason == "higher-class";
}

std::string checkpointWord(const agent::TenantView& tenant) {
  if (tenant.checkpoint == "leaving") return "is being checkpointed";
  return tenant.checkpoint == "away" ? "checkpointed" : "is being restored";
}

std::string requestsWord(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " request" : " requests");
}

bool meet(const agent::TenantView& one, const agent::TenantView& other) {
  return std::any_of(one.shares.begin(), one.shares.end(), [&](const agent::ShareView& share) {
    return std::any_of(other.shares.begin(), other.shares.end(),
                       [&](const agent::ShareView& its) { return its.uuid == share.uuid; });
  });
}

// Other tenants on the device with memory that is never swapped, and why checkpoints do not free
// it.
void addHolders(const agent::TenantView& tenant, const agent::Snapshot& node,
                std::vector<std::string>* reasons) {
  for (const agent::TenantView& other : node.tenants) {
    if (other.id == tenant.id || other.checkpoint != "here" || !meet(tenant, other)) continue;
    if (pinsOf(other).empty() || other.checkpoint_note.empty()) continue;
    reasons->push_back(labelOf(other) + " holds " + pinsOf(other) +
                       " and is not checkpointed: " + other.checkpoint_note);
  }
}

std::string waitingFor(const agent::TenantView& tenant, const agent::Snapshot& node) {
  const std::string where = devicesOf(tenant);
  if (yields(tenant)) {
    const agent::TenantView* borrower = borrowerOf(tenant, node);
    return "paused: its memory on " + where + " is lent to " +
           (borrower == nullptr
                ? "a higher priority"
                : labelOf(*borrower) + ", whose priority is " + borrower->priority) +
           "; it is swapped in again automatically";
  }
  if (tenant.memory_reason == "short") {
    if (tenant.host_map == "in-use")
      return "needs more than " + where + " can provide: " + formatBytes({swappedOf(tenant)}) +
             " of it is used in host memory, slowly";
    return "waits for memory: it needs more than the guarantees of other tenants leave on " +
           where + (tenant.host_map == "cannot" ? ", and its driver cannot map host memory" : "") +
           (tenant.host_map == "off" ? ", and mapping host memory is off (--host-map)" : "");
  }
  const std::uint64_t next = nextTurn(tenant, node);
  return "waits for memory: turn of other tenants on " + where +
         (next == 0 ? "" : ", which ends in at most " + msWord(next));
}

}  // namespace

bool oversubscribed(const agent::Snapshot& node) {
  return std::any_of(
             node.devices.begin(), node.devices.end(),
             [](const agent::DeviceView& device) { return device.overcommit_permille > kOnce; }) ||
         std::any_of(node.tenants.begin(), node.tenants.end(), [](const agent::TenantView& tenant) {
           return tenant.memory != "kept" || !tenant.unswapped.empty();
         });
}

std::vector<std::string> memoryNotes(const agent::TenantView& tenant, const agent::Snapshot& node) {
  std::vector<std::string> notes;
  if (!tenant.unswapped.empty()) notes.push_back("cannot be swapped: " + tenant.unswapped);
  if (tenant.stop == "noticed")
    notes.push_back("ends in " + ageWord(static_cast<std::int64_t>(tenant.stop_left_s)) +
                    " unless it resumes work");
  if (tenant.stop == "ending") notes.emplace_back("terminating");
  if (tenant.refused != 0) notes.push_back(requestsWord(tenant.refused) + " beyond its limit");
  if (tenant.refused_short != 0)
    notes.push_back(requestsWord(tenant.refused_short) + " found the device full");
  if (tenant.memory == "kept") return notes;
  if (tenant.checkpoint != "here") {
    notes.push_back(checkpointWord(tenant));
  } else if (tenant.memory_reason == "short") {
    notes.push_back(tenant.host_map == "in-use"
                        ? formatBytes({swappedOf(tenant)}) + " used in host memory"
                        : std::string("short of memory"));
  } else if (yields(tenant)) {
    const agent::TenantView* borrower = borrowerOf(tenant, node);
    notes.push_back("paused: memory lent to " +
                    (borrower == nullptr ? "a higher priority" : labelOf(*borrower)));
  } else if (tenant.memory == "waiting") {
    notes.emplace_back("waits for its turn");
  } else if (tenant.memory == "coming") {
    notes.emplace_back("swapping in");
  } else if (swappedOut(tenant) && tenant.memory_reason == "unused") {
    notes.emplace_back("released its memory");
  } else if (swappedOut(tenant)) {
    notes.emplace_back("swapped");
  }
  if (tenant.pressed != 0) notes.emplace_back("an allocation waits: the device is short");
  const std::string pins = pinsOf(tenant);
  if (!pins.empty()) notes.push_back("pinned: " + pins);
  const bool waits = tenant.memory == "waiting" || tenant.memory == "coming";
  if (!waits && tenant.idle_s >= kIdle)
    notes.push_back("idle " + ageWord(static_cast<std::int64_t>(tenant.idle_s)));
  return notes;
}

std::vector<std::string> whyWithoutMemory(const agent::TenantView& tenant,
                                          const agent::Snapshot& node) {
  std::vector<std::string> reasons;
  if (!tenant.unswapped.empty())
    reasons.push_back("its memory cannot be swapped: " + tenant.unswapped);
  const bool is_short = tenant.memory != "kept" && tenant.memory_reason == "short";
  if (tenant.checkpoint != "here")
    reasons.push_back(checkpointWord(tenant) + ": all of its memory is on the host until " +
                      devicesOf(tenant) + " has enough free memory");
  if (is_short) addHolders(tenant, node, &reasons);
  if (tenant.memory == "waiting" || is_short) reasons.push_back(waitingFor(tenant, node));
  if (tenant.memory == "coming")
    reasons.push_back("its memory is being swapped in to " + devicesOf(tenant));
  if (tenant.pressed != 0)
    reasons.push_back("an allocation waits for memory: " + devicesOf(tenant) +
                      " has too little memory that can be swapped");
  if (!tenant.refusal.empty() && tenant.memory != "kept")
    reasons.push_back("could not release memory at the last request: " + tenant.refusal);
  return reasons;
}

std::string ratioWord(unsigned permille) {
  std::string text = std::to_string(permille / 1000);
  std::string decimals = std::to_string(1000 + permille % 1000).substr(1);
  while (!decimals.empty() && decimals.back() == '0') decimals.pop_back();
  return text + (decimals.empty() ? "" : "." + decimals) + "x";
}

std::string deviceNote(const agent::DeviceView& device) {
  std::string text;
  const auto add = [&](const std::string& note) { text += (text.empty() ? "" : "; ") + note; };
  if (device.excluded) add("excluded");
  if (device.swap_predicted_ms != 0)
    add("swaps take " + msWord(device.swap_predicted_ms) + ", turns " + msWord(device.quantum_ms));
  if (device.checkpointed != 0) add(std::to_string(device.checkpointed) + " checkpointed");
  if (!device.fault.empty()) add("out of service: " + device.fault);
  if (device.thrash_risk) add("thrash risk");
  return text;
}

}  // namespace divvy::cli
