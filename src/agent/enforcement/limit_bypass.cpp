#include "enforcement/limit_bypass.h"

#include <algorithm>

#include "device/untracked_memory.h"

namespace divvy::agent {
namespace {

constexpr const char* kAccepted = "; accepted: report, throttle, evict";

void note(std::map<std::string, Bypass>* found, const std::string& owner, const Bypass& bypass) {
  const auto [at, fresh] = found->try_emplace(owner, bypass);
  if (!fresh && bypass.kind < at->second.kind) at->second = bypass;
}

}  // namespace

const char* onBypassName(OnBypass on) {
  switch (on) {
    case OnBypass::kThrottle:
      return "throttle";
    case OnBypass::kEvict:
      return "evict";
    case OnBypass::kReport:
      break;
  }
  return "report";
}

Result<OnBypass> parseOnBypass(std::string_view text) {
  for (const OnBypass on : {OnBypass::kReport, OnBypass::kThrottle, OnBypass::kEvict})
    if (text == onBypassName(on)) return on;
  return Error{ErrorCode::kUsage, '"' + std::string(text) + "\" is not known" + kAccepted};
}

SeenBytes seenBytes(const std::vector<DeviceProcess>& processes) {
  SeenBytes seen;
  for (const DeviceProcess& process : processes) {
    Bytes& sum = seen[process.owner][process.device];
    sum = sum + process.bytes;
  }
  return seen;
}

Bytes Shrinking::observe(Bytes stood, Bytes seen) {
  highest_ = std::max(highest_, seen);
  if (++looks_ < kLooks) return stood;
  const Bytes now = std::min(stood, highest_);
  *this = {};
  return now;
}

std::map<std::string, Bypass> bypassesIn(const std::vector<DeviceProcess>& processes,
                                         const Allowances& allowances) {
  std::map<std::string, Bypass> found;
  for (const DeviceProcess& process : processes) {
    const auto owner = allowances.find(process.owner);
    const bool given = owner != allowances.end() && owner->second.contains(process.device);
    if (!given) {
      note(&found, process.owner,
           {BypassKind::kOtherDevice, process.device, process.pid, {}, {}, {}});
      continue;
    }
    if (!process.registered)
      note(&found, process.owner,
           {BypassKind::kUnregistered, process.device, process.pid, {}, {}, {}});
    if (!process.own_pages)
      note(&found, process.owner, {BypassKind::kPages, process.device, process.pid, {}, {}, {}});
  }
  for (const auto& [owner, devices] : seenBytes(processes)) {
    const auto given = allowances.find(owner);
    if (given == allowances.end()) continue;
    for (const auto& [device, bytes] : devices) {
      if (!given->second.contains(device)) continue;
      const Bytes most = given->second.at(device);
      if (bytes > most + untrackedMemory(most))
        note(&found, owner, {BypassKind::kMemory, device, 0, bytes, most, {}});
    }
  }
  return found;
}

// A program chooses its own name, and the text goes into JSON and to terminals.
std::string processWords(int pid, const std::string& command) {
  std::string shown = command.empty() ? "ended" : command;
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return "process " + std::to_string(pid) + " (" + shown + ")";
}

std::string describe(const Bypass& bypass, const std::string& command) {
  const std::string who = processWords(bypass.pid, command);
  const std::string device = "device " + std::to_string(bypass.device);
  switch (bypass.kind) {
    case BypassKind::kUnregistered:
      return who + " uses " + device + " without Divvy's library";
    case BypassKind::kPages:
      return who + " uses " + device + " and mounts files of another share at /run/divvy/tenant";
    case BypassKind::kMemory:
      return "its processes have " + formatBytes(bypass.bytes) + " of " + device + ", limit " +
             formatBytes(bypass.most);
    case BypassKind::kFiles:
      return bypass.file;
    case BypassKind::kOtherDevice:
      break;
  }
  return who + " uses " + device + ", which is not allocated to it";
}

std::string ownerOn(unsigned device, const std::string& owner,
                    const std::vector<std::string>& same_pod, const Allowances& allowances) {
  const auto has = [&](const std::string& id) {
    const auto found = allowances.find(id);
    return found != allowances.end() && found->second.contains(device);
  };
  if (has(owner)) return owner;
  const auto other = std::find_if(same_pod.begin(), same_pod.end(), has);
  return other == same_pod.end() ? owner : *other;
}

void BypassDebouncer::forget(const std::string& owner) {
  counts_.erase(owner);
  going_.erase(owner);
}

BypassDebouncer::BypassChange BypassDebouncer::observe(const std::map<std::string, Bypass>& seen,
                                                       std::int64_t wall) {
  BypassChange news;
  ++looks_;
  for (const auto& [owner, bypass] : seen) {
    Count& count = counts_[owner];
    if (count.bad == 0) count.first = {bypass, wall};
    // The reported text stays the same while the bypass lasts.
    ++count.bad;
    count.good = 0;
    if (count.bad < kLooks || going_.contains(owner)) continue;
    going_[owner] = count.first;
    news.begun.push_back(owner);
  }
  for (auto at = counts_.begin(); at != counts_.end();) {
    Count& count = at->second;
    const bool clean = !seen.contains(at->first);
    const bool going = going_.contains(at->first);
    if (clean) ++count.good;
    if (clean && !going) count.bad = 0;
    const bool over = clean && (!going || count.good >= kClearLooks);
    if (over && going) news.over.push_back(at->first);
    if (over) going_.erase(at->first);
    at = over ? counts_.erase(at) : std::next(at);
  }
  return news;
}

}  // namespace divvy::agent
