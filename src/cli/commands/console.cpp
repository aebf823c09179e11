// `divvy console`.
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "agent_client/console_source.h"
#include "cluster_console/console_cluster.h"
#include "cluster_console/viewer_reviews.h"
#include "commands/commands.h"
#include "config/price_file.h"
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

const char* loginOf(const ConsoleOptions& options) {
  if (!options.trust_headers_from.empty()) return "headers";
  return options.token_login ? "token" : "link";
}

// Viewers of a cluster are no users of this machine, and need not know its files.
std::string fileText(const ConsoleOptions& options, const std::string& file, const char* none) {
  if (file.empty()) return none;
  return loginOf(options) == std::string_view("link") ? file : "a file";
}

console::ConsoleOptions consoleOptions(const ConsoleOptions& options, const std::string& history,
                                       console::PriceTable prices) {
  console::ConsoleOptions result;
  result.prices = std::move(prices);
  result.host = options.host;
  result.port = options.port;
  result.base_path = options.base_path;
  result.interval = std::chrono::milliseconds(options.interval_ms);
  result.allow_changes = options.allow_changes;
  result.history_file = history;
  result.user = userName();
  result.version = versionLine();
  result.configuration = {
      {"interval", std::to_string(options.interval_ms) + "ms"},
      {"history", fileText(options, history, "memory")},
      {"allow-changes", options.allow_changes ? "yes" : "no"},
      {"base-path", options.base_path},
      {"prices", fileText(options, options.price_file, "none")},
  };
  if (!options.cluster) return result;
  result.certificate_file = options.certificate_file;
  result.key_file = options.key_file;
  result.trusted_proxies = options.trusted_proxies;
  result.trust_headers_from = options.trust_headers_from;
  result.configuration.emplace_back("team-label", options.team_label);
  result.configuration.emplace_back("login", loginOf(options));
  result.configuration.emplace_back("tls", options.certificate_file.empty() ? "no" : "yes");
  return result;
}

// A file name of the cluster's name.
std::string fileNameOf(const std::string& cluster) {
  std::string name = cluster;
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char one) { return std::isalnum(one) == 0 && one != '-' && one != '.'; }, '_');
  return "cluster-" + name + ".sqlite";
}

// Shows each link that opens a session.
console::Console::ShowLink linkPrinter() {
  return [first = true](const std::string& link) mutable {
    std::printf("%s\n  %s\n",
                first ? "Open this link in a browser of this machine (Ctrl-C ends the console):"
                      : "A session was opened. The link for another browser:",
                link.c_str());
    std::fflush(stdout);
    first = false;
  };
}

using Served = Result<std::unique_ptr<console::Console>>;

Served serveMachine(const ConsoleOptions& options, console::PriceTable prices,
                    asio::io_context& loop) {
  // An agent of this machine, so that the page has devices before the first share.
  {
    const Result<std::vector<NodeLink>> links = linkOrStart(options.sim);
    if (!links) return links.error();
  }
  // The history has names of shares: it is for this user only.
  umask(S_IRWXG | S_IRWXO);
  makeFolder(options.history);
  return console::Console::start(loop.get_executor(),
                                 consoleOptions(options, options.history, std::move(prices)),
                                 std::make_unique<LocalNodes>(options.sim), whySlow, linkPrinter());
}

Served serveCluster(const ConsoleOptions& options, console::PriceTable prices,
                    asio::io_context& loop) {
  umask(S_IRWXG | S_IRWXO);
  Result<std::unique_ptr<ClusterWatch>> watch =
      ClusterWatch::start({*options.cluster, options.team_label, options.agent_namespace});
  if (!watch) return watch.error();
  const std::string name = (*watch)->name();
  const std::string history = options.history_folder.empty()
                                  ? options.history
                                  : options.history_folder + '/' + fileNameOf(name);
  makeFolder(history);
  console::ConsoleOptions shown = consoleOptions(options, history, std::move(prices));
  shown.place = options.name.empty() ? name : options.name;
  auto source = std::make_unique<ConsoleCluster>(*options.cluster, std::move(*watch),
                                                 !options.agent_namespace.empty());
  const bool named = !options.trust_headers_from.empty();
  if (!named && !options.token_login)
    return console::Console::start(loop.get_executor(), shown, std::move(source), linkPrinter());
  Served served =
      console::Console::start(loop.get_executor(), shown, std::move(source),
                              std::make_unique<ClusterViewerReviews>(options.cluster->connection));
  if (!served) return served;
  std::printf("The console serves %s; viewers sign in %s\n", (*served)->address().c_str(),
              named ? "at the proxies of --trust-headers-from"
                    : "with a Kubernetes token (kubectl create token NAME --audience "
                      "divvy-console)");
  std::fflush(stdout);
  return served;
}

}  // namespace

int console(const ConsoleOptions& options) {
  Result<console::PriceTable> prices = readPriceFile(options.price_file);
  if (!prices) return fail(prices.error());
  asio::io_context loop{1};
  asio::signal_set signals(loop, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& fault, int) {
    if (!fault) loop.stop();
  });
  signal(SIGPIPE, SIG_IGN);
  const Served served = options.cluster ? serveCluster(options, std::move(*prices), loop)
                                        : serveMachine(options, std::move(*prices), loop);
  if (!served) return fail(served.error());
  loop.run();
  // Questions in progress end first. A second signal does not wait for them.
  boost::system::error_code ignored;
  signals.clear(ignored);
  return 0;
}

}  // namespace divvy::cli
