// A list and a watch of one collection of objects (an informer).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "kube/client.h"
#include "kube/pod.h"

namespace divvy::kube {

class Informer;

struct EventHandlers {
  // Path of the collection: "/api/v1/nodes".
  std::string path;
  // Encoded query, "fieldSelector=..."; may be empty.
  std::string query;
  // Called for an added or changed object. After a relist it is called for every object, whether
  // changed or not.
  std::function<void(const boost::json::value& object)> set;
  // Optional, for pods only. If set, pods are listed in protobuf and reported here instead of
  // `set`. Changes, and pods that the server sends as JSON, go to `set`.
  std::function<void(const Pod& pod)> pod;
  // Called for a removed object that was reported before under that UID.
  std::function<void(const std::string& uid, const std::string& name)> gone;
  // Called when a whole list has been reported, again after each relist.
  std::function<void()> synced;
  // Called for an error. The reflector continues after a pause, which grows from 200 ms to 30 s.
  std::function<void(const Error&)> trouble;
  // Informer of the objects that these objects refer to, which are cheaper to process first. The
  // list waits until that informer is fresh(), but no longer than kBehind. Null: no wait. It
  // outlives the reflector.
  const Informer* behind = nullptr;
};
inline constexpr std::chrono::milliseconds kBehind{5'000};

// State and control of one reflector. Used on the client's thread only.
class Informer {
 public:
  // Requests a new list of all objects, by a read that begins after this call. Does not block.
  void relist();
  // Returns whether a list that began after the last relist() has been reported, or the first list.
  bool fresh() const { return told_ == asked_; }
  // Returns when requests began to fail. A complete list or an opened watch resets it.
  std::optional<std::chrono::steady_clock::time_point> failingSince() const { return failing_; }
  // Returns the message of the last error; empty after a success.
  const std::string& fault() const { return fault_; }

 private:
  friend class Reflector;
  std::uint64_t asked_ = 1;
  std::uint64_t told_ = 0;
  std::optional<std::chrono::steady_clock::time_point> failing_;
  std::string fault_;
  std::function<void()> wake_;  // ends the current watch or pause
};

// Lists and watches `follower.path` and calls the handlers on the client's thread. All handlers but
// `pod` are required. Returns after *stopped is true: at the next watch event, or when the current
// watch fails or the current pause ends. `client`, `informer`, `stopped` and all that handlers
// refer to outlive it.
boost::asio::awaitable<void> runReflector(Client& client, EventHandlers follower,
                                          Informer& informer, const bool* stopped);

}  // namespace divvy::kube
