// Files of a certificate that others renew, as they change. Private.
#pragma once

#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "http/server.h"

namespace divvy::scheduler {

// Until *stopped. By what is in them: of a mounted Secret a link changes, and not the file. What
// cannot be used is said once, and the server goes on with what it has.
boost::asio::awaitable<void> reloadWhenChanged(http::Server& server, std::string certificate_file,
                                               std::string key_file,
                                               std::function<void(const std::string&)> logLine,
                                               const bool* stopped);

}  // namespace divvy::scheduler
