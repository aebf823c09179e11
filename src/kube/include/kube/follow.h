// All objects of a collection, and every change of them, for as long as it is wanted.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "kube/client.h"

namespace divvy::kube {

struct Follower {
  std::string path;   // "/api/v1/nodes"
  std::string query;  // "fieldSelector=...", encoded; may be empty
  // New, or changed since it was told last (or perhaps not: after a break all are told again).
  std::function<void(const boost::json::value& object)> set;
  // Told of with that UID before, and gone.
  std::function<void(const std::string& uid, const std::string& name)> gone;
  // All that there was when it began has been told. Called again after a break.
  std::function<void()> synced;
  // Something went wrong; it goes on, after a pause that grows up to half a minute.
  std::function<void(const Error&)> trouble;
};

// Until *stopped is true and something happens next. Client, flag and what is called outlive it.
boost::asio::awaitable<void> follow(Client& client, Follower follower, const bool* stopped);

}  // namespace divvy::kube
