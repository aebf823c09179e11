// How what a running container has is changed: who may patch the pod asks, the scheduler admits or
// refuses, the agent of the node does it and says so on its node, the scheduler writes it down.
// Annotations, each a JSON object. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::kube {

inline constexpr const char* kChangeKey = "use.divvy.dev/change";         // pod: what is asked for
inline constexpr const char* kChangeStateKey = "divvy.dev/change-state";  // pod: what became of it
inline constexpr const char* kChangesKey = "divvy.dev/changes";  // node: what its agent did

struct ResizeRequest {
  std::string id;  // whoever asks chose it: up to 63 letters, digits and '-'
  std::string container;
  std::optional<std::uint64_t> mebibytes;  // of each of its devices; none: as it is
  std::optional<std::uint32_t> cores;      // percent, likewise
  std::string priority;                    // a word of divvy run's; empty: as it is
  friend bool operator==(const ResizeRequest&, const ResizeRequest&) = default;
};

enum class ResizePhase : std::uint8_t {
  kAdmitted,  // what it may have until it is done is the more of both
  kDone,
  kRefused,
};

struct ResizeState {
  std::string id;
  // Of kAdmitted: the scheduler's own name for it, which nobody else has; and what was admitted,
  // whatever the pod asks for by now.
  std::string token;
  ResizeRequest change;
  std::string term;  // of the scheduler's Lease, in which it was; empty: it leads alone
  ResizePhase phase = ResizePhase::kAdmitted;
  std::string reason;      // of kRefused, in one word
  std::string message;     // likewise; or what there is to say beside it
  std::string assignment;  // of kAdmitted: as the pod's will be
  std::int64_t since = 0;  // of kAdmitted: seconds since 1970
  friend bool operator==(const ResizeState&, const ResizeState&) = default;
};

// What an agent says of changes that are admitted and not settled, by their token.
struct ResizeResult {
  bool done = false;
  std::string reason;  // of one that is not
  std::string message;
  friend bool operator==(const ResizeResult&, const ResizeResult&) = default;
};
using ChangeResults = std::map<std::string, ResizeResult>;

// In one word, as ResizeState::reason and ResizeResult::reason: "NoRoom", "Invalid" ...
std::string changeReason(const Error& why);

std::string encode(const ResizeRequest& change);
std::string encode(const ResizeState& state);
std::string encode(const ChangeResults& results);

// kCorrupt: which member, what is accepted.
Result<ResizeRequest> decodeShareChange(std::string_view text);
Result<ResizeState> decodeChangeState(std::string_view text);
Result<ChangeResults> decodeChangeResults(std::string_view text);

}  // namespace divvy::kube
