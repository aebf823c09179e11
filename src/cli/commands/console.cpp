// `divvy console`.
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "agent_client/console_source.h"
#include "commands/commands.h"
#include "console/console.h"
#include "options/version.h"
#include "view/slowness_diagnosis.h"

namespace divvy::cli {
namespace {

namespace asio = boost::asio;

std::string userName() {
  const passwd* entry = getpwuid(getuid());
  return entry == nullptr ? std::to_string(getuid()) : entry->pw_name;
}

// The file's folder; errors appear when the file is opened.
void makeFolder(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
}

console::ConsoleOptions consoleOptions(const ConsoleOptions& options) {
  console::ConsoleOptions result;
  result.host = options.host;
  result.port = options.port;
  result.base_path = options.base_path;
  result.interval = std::chrono::milliseconds(options.interval_ms);
  result.allow_changes = options.allow_changes;
  result.history_file = options.history;
  result.user = userName();
  result.version = versionLine();
  result.configuration = {
      {"interval", std::to_string(options.interval_ms) + "ms"},
      {"history", options.history.empty() ? "memory" : options.history},
      {"allow-changes", options.allow_changes ? "yes" : "no"},
      {"base-path", options.base_path},
  };
  return result;
}

}  // namespace

int console(const ConsoleOptions& options) {
  // An agent of this machine, so that the page has devices before the first share.
  {
    const Result<std::vector<NodeLink>> links = linkOrStart(options.sim);
    if (!links) return fail(links.error());
  }
  // The history has names of shares: it is for this user only.
  umask(S_IRWXG | S_IRWXO);
  makeFolder(options.history);
  asio::io_context loop{1};
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& fault, int) {
    if (!fault) loop.stop();
  });
  signal(SIGPIPE, SIG_IGN);
  bool first = true;
  const auto show = [&first](const std::string& link) {
    std::printf("%s\n  %s\n",
                first ? "Open this link in a browser of this machine (Ctrl-C ends the console):"
                      : "A session was opened. The link for another browser:",
                link.c_str());
    std::fflush(stdout);
    first = false;
  };
  Result<std::unique_ptr<console::Console>> served =
      console::Console::start(loop.get_executor(), consoleOptions(options),
                              std::make_unique<LocalNodes>(options.sim), whySlow, show);
  if (!served) return fail(served.error());
  loop.run();
  return 0;
}

}  // namespace divvy::cli
