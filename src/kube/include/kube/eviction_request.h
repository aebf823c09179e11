// Eviction requests of agents, and notices of the scheduler to these pods. Both are annotations
// with a JSON object; each reason has a pair of them. Pure. Instants are seconds since 1970.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::kube {

// Reason: no process uses the pod's devices.
inline constexpr const char* kIdleKey = "divvy.dev/idle";              // node: Complaints
inline constexpr const char* kIdleNoticeKey = "divvy.dev/idle-state";  // pod: Notice
// Reason: its processes use devices outside its share, or beyond its limits.
inline constexpr const char* kBypassKey = "divvy.dev/bypass";
inline constexpr const char* kBypassNoticeKey = "divvy.dev/bypass-state";

struct EvictionRequest {
  std::string namespace_name, name;
  std::int64_t since = 0;
  // Deadline of the notice, repeated by the agent after that deadline while the reason persists; 0:
  // not yet. An eviction needs it, because the request of an agent that has ended stays on its
  // node.
  std::int64_t confirmed = 0;
  // Detail for people, where the reason alone does not suffice: one line, at most kMaxWords bytes.
  std::string what = {};
  bool evicts = true;  // false: the pod gets a notice only
  friend bool operator==(const EvictionRequest&, const EvictionRequest&) = default;
};
using Complaints = std::map<std::string, EvictionRequest>;  // by pod UID
inline constexpr std::size_t kMaxComplaints = 1024;         // for one reason and node
inline constexpr std::size_t kMaxWords = 256;

// A notice to a pod.
struct Notice {
  std::int64_t since = 0;     // from the eviction request
  std::int64_t noticed = 0;   // when the notice was given
  std::int64_t deadline = 0;  // when the pod is evicted; 0: never
  bool told = false;          // delivered to the pod and its platform
  friend bool operator==(const Notice&, const Notice&) = default;
};

std::string encode(const Complaints& complaints);
std::string encode(const Notice& notice);

// Decode the annotations. kCorrupt names the member and the accepted form. Names and UIDs become
// parts of paths, so only those that an API server accepts are accepted.
Result<Complaints> decodeComplaints(std::string_view text);
Result<Notice> decodeNotice(std::string_view text);

}  // namespace divvy::kube
