// Bodies of requests to the API, as what they ask of an agent. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "agent/protocol.h"
#include "base/result.h"
#include "rows/rows.h"

namespace divvy::console {

// Reads {"token": "..."}. kUsage: the body is no such object.
Result<std::string> readToken(std::string_view body);

// A question whether a request would fit.
struct Question {
  std::string node;  // empty: the first one
  agent::RunRequest request;
};

// Reads {"memory": "4Gi", "cores": 30, "gpus": 1, "priority": "low", "model": "h100", "node": ""}.
// kUsage: the body is no such object; the message names member and accepted values.
Result<Question> readQuestion(std::string_view body);

// A change of a running share.
struct ShareChange {
  std::string share;  // its identifier
  agent::SetRequest request;
  bool dry_run = true;
};

// Reads {"what": "resize", "target": {"share": "..."}, "to": {...}, "dry_run": true}. kUsage: as
// above.
Result<ShareChange> readChange(std::string_view body);

// Returns the effects of a change on a share, one sentence each. kUsage: it would change nothing.
Result<std::vector<std::string>> effectsOf(const ShareChange& change, const Row& share);

// Pods whose places are asked for.
struct ManifestQuestion {
  std::string manifest;        // YAML or JSON
  std::string namespace_name;  // empty: their own
};

// Reads {"manifest": "kind: Pod ...", "namespace": "train"}. kUsage: as above.
Result<ManifestQuestion> readManifestQuestion(std::string_view body);

// Returns the answer of an agent as docs/reference/console-api.md has it.
boost::json::object explanationOf(const agent::ExplainReply& reply);

}  // namespace divvy::console
