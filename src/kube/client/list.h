// Lists collections page by page: Client::list() with more options. Private.
#pragma once

#include <functional>
#include <string>

#include "client/asio.h"
#include "kube/client.h"

namespace divvy::kube {

struct Listing {
  std::string path, query;
  // Called before the first page, again after each restart.
  std::function<void()> begin;
  // Called for each item in JSON.
  std::function<void(const boost::json::value&)> each;
  // If set, pods are requested in protobuf, and it is called for each of them.
  std::function<void(const Pod&)> pod = {};
  // Called for a page in protobuf that cannot be read and is requested again as JSON.
  std::function<void(const Error&)> trouble = {};
  // Asked after each page; true restarts the list.
  std::function<bool()> relist_requested = {};
};

// Returns the version to watch from. `listing` outlives the call. Errors: as Client::list().
asio::awaitable<Result<std::string>> listed(Client& client, const Listing& listing);

}  // namespace divvy::kube
