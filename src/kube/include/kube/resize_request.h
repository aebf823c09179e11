// A resize of a running container, in annotations with a JSON object. A user that may patch the pod
// requests it, and the scheduler admits or refuses it. The node's agent carries it out and reports
// that on its node; the scheduler then records it in the pod. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::kube {

// Keys that are read, by findRenamed: under the old key, too.
inline constexpr const char* kResizeKey = "use.divvy.dev/resize";             // pod: ResizeRequest
inline constexpr const char* kResizeStateKey = "divvy.dev/resize-state";      // pod: ResizeState
inline constexpr const char* kResizeResultsKey = "divvy.dev/resize-results";  // node: ChangeResults

// The old keys of the same. This release writes only these, so that the release before understands
// them after a rollback. The next release writes the keys above and removes these.
inline constexpr const char* kChangeKey = "use.divvy.dev/change";
inline constexpr const char* kChangeStateKey = "divvy.dev/change-state";
inline constexpr const char* kChangesKey = "divvy.dev/changes";

struct ResizeRequest {
  std::string id;  // chosen by the requester: 1 to 63 letters, digits and '-'
  std::string container;
  std::optional<std::uint64_t> mebibytes;  // MiB of each device, 1 to 2^40; none: unchanged
  std::optional<std::uint32_t> cores;      // percent of each device, 1 to 100; none: unchanged
  std::string priority;                    // a priority of `divvy run`; empty: unchanged
  friend bool operator==(const ResizeRequest&, const ResizeRequest&) = default;
};

enum class ResizePhase : std::uint8_t {
  kAdmitted,  // until it is done, the larger of old and new limits counts
  kDone,
  kRefused,
};

struct ResizeState {
  std::string id;
  // Of kAdmitted: the scheduler's unique ID of this resize, and the request that it admitted. The
  // pod's annotation may ask for another resize by now.
  std::string token;
  ResizeRequest change;
  std::string term;  // leadership term (Lease) of the admission; empty: no leader election
  ResizePhase phase = ResizePhase::kAdmitted;
  std::string reason;      // of kRefused, one word
  std::string message;     // of kRefused; else a remark
  std::string assignment;  // of kAdmitted: the pod's new assignment
  std::int64_t since = 0;  // of kAdmitted: seconds since 1970
  friend bool operator==(const ResizeState&, const ResizeState&) = default;
};

// An agent's result of an admitted resize that is not settled yet. ChangeResults: by token.
struct ResizeResult {
  bool done = false;
  std::string reason;  // one word, if not done
  std::string message;
  friend bool operator==(const ResizeResult&, const ResizeResult&) = default;
};
using ChangeResults = std::map<std::string, ResizeResult>;

// Returns an error's one word for ResizeState::reason and ResizeResult::reason: "NoRoom",
// "NotFound", "Unsupported", "Unavailable" or "Invalid".
std::string changeReason(const Error& why);

std::string encode(const ResizeRequest& change);
std::string encode(const ResizeState& state);
std::string encode(const ChangeResults& results);

// Decode the annotations. kCorrupt: the message names the member and the accepted form.
Result<ResizeRequest> decodeShareChange(std::string_view text);
Result<ResizeState> decodeChangeState(std::string_view text);
Result<ChangeResults> decodeChangeResults(std::string_view text);

}  // namespace divvy::kube
