#include "http/server.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

extern char** environ;  // NOLINT: POSIX

namespace divvy::http {
namespace {

// An agent that began anew told nobody of metrics: a child of the one before it had the port.
TEST(HttpServer, AChildThatOutlivesItDoesNotKeepItsPort) {
  boost::asio::io_context loop;
  auto first = Server::start(loop.get_executor(), {}, {});
  ASSERT_TRUE(first) << first.error().message();
  Listen again;
  again.port = (*first)->port();
  char name[] = "sleep", time[] = "60";
  char* const words[] = {name, time, nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawnp(&child, name, nullptr, nullptr, words, environ), 0);
  first->reset();
  loop.run_for(std::chrono::seconds(1));  // what is under way ends
  // The kernel closes what a new program is not to have a moment after it says that it has begun.
  auto second = Server::start(loop.get_executor(), again, {});
  for (int tries = 0; !second && tries < 200; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    second = Server::start(loop.get_executor(), again, {});
  }
  EXPECT_TRUE(second) << second.error().message();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace divvy::http
