// Lists collections page by page: what Client::list does, and more than it says of it. Private.
#pragma once

#include <functional>
#include <string>

#include "client/asio.h"
#include "kube/client.h"

namespace divvy::kube {

struct Listing {
  std::string path, query;
  std::function<void()> begin;                          // before the first page, each time
  std::function<void(const boost::json::value&)> each;  // what came as JSON
  std::function<void(const Pod&)> pod = {};             // not empty: of pods, in protobuf
  std::function<void(const Error&)> trouble = {};       // of a page that comes again as JSON
  std::function<bool()> anew = {};  // asked after each page: what was read is of no use any more
};

// The version to watch from. `listing` outlives it.
asio::awaitable<Result<std::string>> listed(Client& client, const Listing& listing);

}  // namespace divvy::kube
