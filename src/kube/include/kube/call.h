// A request to an API server, and its reply.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace divvy::kube {

enum class Verb : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete };

inline constexpr const char* kJson = "application/json";
// Protobuf costs server and client a fraction of the cost of JSON. JSON is for servers without it.
inline constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf,application/json";
inline constexpr const char* kMergePatch = "application/merge-patch+json";
inline constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";
inline constexpr const char* kJsonPatch = "application/json-patch+json";
inline constexpr const char* kApplyPatch = "application/apply-patch+yaml";

struct Call {
  Verb verb = Verb::kGet;
  // With query: "/api/v1/pods?limit=500".
  std::string path;
  std::string body = {};
  const char* type = kJson;  // of the body
  // Called before each attempt to send. If it returns false, nothing is sent (kUnavailable).
  std::function<bool()> still = {};
  // Returns replies of "later" (429, 503) at once, without another attempt.
  bool once = false;
  const char* accept = kJson;  // accepted media types of the reply
  // Bytes of the reply's body; a larger one is an error. A page of a large list has less.
  std::uint64_t max_reply = 256u << 20;
};

// Source: apimachinery's meta/v1 Status.
struct Reply {
  unsigned status = 0;  // HTTP status
  std::string body;
  std::optional<std::chrono::seconds> retry_after = {};

  bool good() const { return status >= 200 && status < 300; }
};

// Returns whether all bytes are printable ASCII without blank, as a path requires.
bool isPath(std::string_view path);

// Returns the error for a reply without success: "409 Conflict: pods \"a\" is already bound".
// kNotFound: 404. kUsage: requests that can never succeed (400, 405, 406, 415, 422). kUnavailable:
// a later attempt may succeed (408, 429, 5xx). kIo: all others (401, 403, 409, 410 ...).
Error errorOf(const Reply& reply);

}  // namespace divvy::kube
