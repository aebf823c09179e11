// What is said to an API server, and what it answers.
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
// In which servers write and we read at a fraction of what JSON costs; JSON, where they cannot.
inline constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf,application/json";
inline constexpr const char* kMergePatch = "application/merge-patch+json";
inline constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";
inline constexpr const char* kJsonPatch = "application/json-patch+json";
inline constexpr const char* kApplyPatch = "application/apply-patch+yaml";

struct Call {
  Verb verb = Verb::kGet;
  std::string path;  // "/api/v1/pods?limit=500"
  std::string body = {};
  const char* type = kJson;  // of the body
  // Asked right before it is written to the server, every time. False: it is not (kUnavailable).
  std::function<bool()> still = {};
  // "Later" (429, 503) is an answer like others: it is not waited for.
  bool once = false;
  const char* accept = kJson;  // what the answer may be written in
};

// Source: apimachinery's meta/v1 Status.
struct Reply {
  unsigned status = 0;  // of HTTP
  std::string body;
  std::optional<std::chrono::seconds> retry_after = {};

  bool good() const { return status >= 200 && status < 300; }
};

// Only bytes that a path may have: printing ASCII.
bool isPath(std::string_view path);

// What a reply that is not good says: "409 Conflict: pods \"a\" is already bound". kNotFound of
// 404, kUsage of what can not be right (400, 405, 406, 415, 422), kUnavailable of what may be
// better later (408, 429, 5xx), kIo of the rest (401, 403, 409, 410 ...).
Error errorOf(const Reply& reply);

}  // namespace divvy::kube
