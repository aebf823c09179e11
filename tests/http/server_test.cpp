#include "http/server.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

extern char** environ;  // NOLINT: POSIX

namespace divvy::http {
namespace {

// An agent that began anew told nobody of metrics: a child of the one before it had the port.
TEST(HttpServer, ChildOutlivesServer_PortFree) {
  boost::asio::io_context loop;
  auto first = Server::start(loop.get_executor(), {}, {});
  ASSERT_TRUE(first) << first.error().message();
  Listen again;
  again.port = (*first)->port();
  // It is another program, with what that has of descriptors, when it says something.
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, said[1], STDOUT_FILENO);
  char name[] = "sh", option[] = "-c", script[] = "echo; exec sleep 60";
  char* const words[] = {name, option, script, nullptr};
  pid_t child = 0;
  ASSERT_EQ(posix_spawnp(&child, name, &actions, nullptr, words, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  char word = 0;
  ASSERT_EQ(read(said[0], &word, 1), 1);
  first->reset();
  loop.run();  // what is under way ends
  const auto second = Server::start(loop.get_executor(), again, {});
  EXPECT_TRUE(second) << second.error().message();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const int end : said) close(end);
}

}  // namespace
}  // namespace divvy::http
