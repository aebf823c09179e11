// What an agent says against pods of its node, and the notice that the scheduler gives such a pod:
// annotations, each a JSON object, a pair of them for each kind of complaint. Pure. Seconds are
// since 1970.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::kube {

// Nobody uses what the pod was given of devices.
inline constexpr const char* kIdleKey = "divvy.dev/idle";              // node: Complaints
inline constexpr const char* kIdleNoticeKey = "divvy.dev/idle-state";  // pod: Notice
// Its processes use devices that it was not given, or past what limits it.
inline constexpr const char* kBypassKey = "divvy.dev/bypass";
inline constexpr const char* kBypassNoticeKey = "divvy.dev/bypass-state";

struct EvictionRequest {
  std::string space, name;
  std::int64_t since = 0;
  // The deadline that its notice had, said when that was over and it was still so; 0: not yet.
  // What an agent says that has gone stays on its node.
  std::int64_t confirmed = 0;
  // For people, where the kind alone does not say it: one line, kMaxWords bytes at most.
  std::string what = {};
  bool evicts = true;  // it is to go for that; false: it is only told
  friend bool operator==(const EvictionRequest&, const EvictionRequest&) = default;
};
using Complaints = std::map<std::string, EvictionRequest>;  // by UID
inline constexpr std::size_t kMaxComplaints = 1024;         // of one kind and node
inline constexpr std::size_t kMaxWords = 256;

// Given to a pod.
struct Notice {
  std::int64_t since = 0;     // as its node said
  std::int64_t noticed = 0;   // it was told
  std::int64_t deadline = 0;  // when it is evicted; 0: it is not
  bool told = false;          // the pod, and its platform
  friend bool operator==(const Notice&, const Notice&) = default;
};

std::string encode(const Complaints& complaints);
std::string encode(const Notice& notice);

// kCorrupt: which member, what is accepted. Names and UIDs are such as API servers have: they
// become parts of paths.
Result<Complaints> decodeComplaints(std::string_view text);
Result<Notice> decodeNotice(std::string_view text);

}  // namespace divvy::kube
