// Reloads the webhook's certificate when another program renews its files. Private.
#pragma once

#include <string>

#include <boost/asio/awaitable.hpp>

#include "http/server.h"

namespace divvy::scheduler {

// Reloads changed files into `server` until *stopped is true. Compares their content: in a mounted
// Secret a link changes and not the file. Files that cannot be used are logged once, and
// the server keeps its certificate. `server` and `stopped` outlive the coroutine.
boost::asio::awaitable<void> reloadWhenChanged(http::Server& server, std::string certificate_file,
                                               std::string key_file, const bool* stopped);

}  // namespace divvy::scheduler
