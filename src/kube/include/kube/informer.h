// All objects of a collection, and every change of them, for as long as it is wanted.
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
  std::string path;   // "/api/v1/nodes"
  std::string query;  // "fieldSelector=...", encoded; may be empty
  // New, or changed since it was told last (or perhaps not: after a break all are told again).
  std::function<void(const boost::json::value& object)> set;
  // Of pods, and may be empty: they are listed in protobuf, and who came so is told here instead.
  // Their changes, and what the server tells as JSON all the same, are told by `set`.
  std::function<void(const Pod& pod)> pod;
  // Told of with that UID before, and gone.
  std::function<void(const std::string& uid, const std::string& name)> gone;
  // All that there was when it began has been told. Called again after a break.
  std::function<void()> synced;
  // Something went wrong; it goes on, after a pause that grows up to half a minute.
  std::function<void(const Error&)> trouble;
  // What refers to others is cheaper to take in behind them: it is listed once these have been
  // told, but waits for them no longer than kBehind. Null: it waits for nobody. Outlives it.
  const Informer* behind = nullptr;
};
inline constexpr std::chrono::milliseconds kBehind{5'000};

// How it stands with what is followed, and a hold on it. For the client's thread.
class Informer {
 public:
  // All is listed anew, by a read that begins after this.
  void relist();
  // All has been told that there was when relist() was called last, or when it began.
  bool fresh() const { return told_ == asked_; }
  // Since when nothing was heard from the server: all that was tried since has failed.
  std::optional<std::chrono::steady_clock::time_point> failingSince() const { return failing_; }
  const std::string& fault() const { return fault_; }  // the last one

 private:
  friend class Reflector;
  std::uint64_t asked_ = 1;
  std::uint64_t told_ = 0;
  std::optional<std::chrono::steady_clock::time_point> failing_;
  std::string fault_;
  std::function<void()> wake_;  // ends the watch or the pause that is under way
};

// Until *stopped is true and something happens next. Client, rein, flag and what is called outlive
// it.
boost::asio::awaitable<void> runReflector(Client& client, EventHandlers follower,
                                          Informer& informer, const bool* stopped);

}  // namespace divvy::kube
