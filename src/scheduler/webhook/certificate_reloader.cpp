#include "webhook/certificate_reloader.h"

#include <chrono>
#include <fstream>
#include <sstream>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "log/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kLook{2};

std::string contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

}  // namespace

asio::awaitable<void> reloadWhenChanged(http::Server& server, std::string certificate_file,
                                        std::string key_file, const bool* stopped) {
  const auto both = [&] { return contentOf(certificate_file) + '\0' + contentOf(key_file); };
  // Files from between the server's start and here are read again; that does no harm.
  std::string last;
  bool first = true;
  while (!*stopped) {
    std::string now = both();
    if (now != last) {
      last = std::move(now);
      const Result<void> done = server.reload();
      if (!done) {
        log::warn("cannot load the new certificate; the webhook keeps the one before",
                  {{"file", certificate_file}, {"error", done.error().message()}});
      } else if (!first) {
        log::info("the webhook uses the new certificate", {{"file", certificate_file}});
      }
      first = false;
    }
    asio::steady_timer pause(co_await asio::this_coro::executor, kLook);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace divvy::scheduler
