// Options of `divvy console`, from words.
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "files/listen.h"
#include "options/raw_options.h"

namespace divvy::cli {
namespace {

constexpr std::uint64_t kShortestIntervalMs = 250;
constexpr std::uint64_t kClusterIntervalMs = 2000;
constexpr std::size_t kMaxName = 253;
constexpr const char* kTeamLabel = "divvy.dev/team";
constexpr const char* kAgentNamespace = "divvy-system";

Result<std::string> parseBasePath(const std::string& text) {
  if (text.empty()) return std::string("/");
  const auto plain = [](char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') ||
           one == '/' || one == '-' || one == '_' || one == '.' || one == '~';
  };
  const bool good = text.front() == '/' && text.find("//") == std::string::npos &&
                    text.find("..") == std::string::npos &&
                    std::all_of(text.begin(), text.end(), plain);
  if (!good)
    return Error{ErrorCode::kUsage, "--base-path \"" + text +
                                        "\" is not accepted; a path such as /gpu/ with letters, "
                                        "digits, '-', '_', '.' and '~' is"};
  return text.ends_with('/') ? text : text + "/";
}

// $XDG_STATE_HOME, else ~/.local/state; empty without a home.
std::string stateFolder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return state;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/state" : std::string();
}

std::string historyFile(const std::string& text) {
  if (text == "memory") return {};
  if (!text.empty()) return text;
  const std::string state = stateFolder();
  return state.empty() ? std::string() : state + "/divvy/history.sqlite";
}

// Any text without control characters.
Result<void> checkName(const std::string& name) {
  const bool good = name.size() <= kMaxName && std::none_of(name.begin(), name.end(), [](char one) {
                      return static_cast<unsigned char>(one) < ' ' || one == 0x7f;
                    });
  if (good) return {};
  return Error{ErrorCode::kUsage, "--name is not accepted; up to " + std::to_string(kMaxName) +
                                      " bytes without control characters are"};
}

std::vector<std::string> wordsOf(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, ',');) words.push_back(one);
  return words;
}

// How viewers reach the console of a cluster.
Result<void> readLogin(const ConsoleText& text, ConsoleOptions* console) {
  const bool headers = text.login == "headers";
  if (!text.login.empty() && text.login != "link" && text.login != "token" && !headers)
    return Error{ErrorCode::kUsage,
                 "--login \"" + text.login + "\" is not known; accepted: link, token, headers"};
  if (headers && text.naming.empty())
    return Error{ErrorCode::kUsage,
                 "--login headers needs --trust-headers-from with the addresses of the proxy that "
                 "names the viewers, as 10.0.0.7"};
  if (headers && text.allow_changes)
    return Error{ErrorCode::kUsage,
                 "--allow-changes is not accepted with --login headers: changes are made with a "
                 "viewer's own token, and the proxy passes on none"};
  if (!headers && !text.naming.empty())
    return Error{ErrorCode::kUsage, "--trust-headers-from is accepted with --login headers"};
  if (text.certificate.empty() != text.key.empty())
    return Error{ErrorCode::kUsage, "--tls-cert and --tls-key belong together; accepted: both"};
  console->token_login = text.login == "token";
  const bool viewers = headers || console->token_login;
  if (!viewers && !text.certificate.empty())
    return Error{
        ErrorCode::kUsage,
        "--tls-cert is accepted with --login token or headers; links are of this machine only"};
  console->certificate_file = text.certificate;
  console->key_file = text.key;
  if (!viewers && !text.proxies.empty())
    return Error{ErrorCode::kUsage,
                 "--trusted-proxies is accepted with --login token or headers; links are of this "
                 "machine only"};
  console->trusted_proxies = wordsOf(text.proxies);
  console->trust_headers_from = wordsOf(text.naming);
  console->name = text.name;
  return checkName(text.name);
}

Result<void> readPlace(const RawOptions& raw, ConsoleOptions* console) {
  const ConsoleText& text = raw.console;
  const bool cluster = meansCluster(raw);
  console->allow_changes = text.allow_changes;
  if (text.local == cluster)
    return Error{ErrorCode::kUsage,
                 "console: accepted is one of --local (this machine) and --cluster (a cluster)"};
  if (!cluster) {
    for (const auto& [option, given] :
         {std::pair("--login", &text.login), std::pair("--tls-cert", &text.certificate),
          std::pair("--tls-key", &text.key), std::pair("--trusted-proxies", &text.proxies),
          std::pair("--trust-headers-from", &text.naming), std::pair("--name", &text.name)})
      if (!given->empty())
        return Error{ErrorCode::kUsage,
                     "console: " + std::string(option) + " is accepted with --cluster"};
    if (raw.sim_given) console->sim = raw.sim;
    console->history = historyFile(text.history);
    return {};
  }
  if (raw.sim_given) return Error{ErrorCode::kUsage, "console: --sim is accepted with --local"};
  Result<ClusterChoice> choice = clusterOf(raw);
  if (!choice) return choice.error();
  console->cluster = std::move(*choice);
  console->team_label = text.team_label.empty() ? kTeamLabel : text.team_label;
  console->agent_namespace = text.agents.empty() ? kAgentNamespace : text.agents;
  if (text.agents == "none") console->agent_namespace.clear();
  console->interval_ms = kClusterIntervalMs;
  const std::string state = stateFolder();
  if (text.history.empty() && !state.empty()) {
    console->history_folder = state + "/divvy";
  } else if (text.history != "memory") {
    console->history = text.history;
  }
  return readLogin(text, console);
}

}  // namespace

Result<Options> makeConsole(const RawOptions& raw) {
  const ConsoleText& text = raw.console;
  ConsoleOptions console;
  const Result<void> place = readPlace(raw, &console);
  if (!place) return place.error();
  const Result<void> listen = readListen(text.listen, "--listen", &console.host, &console.port);
  if (!listen) return listen.error();
  Result<std::string> base = parseBasePath(text.base_path);
  if (!base) return base.error();
  console.base_path = std::move(*base);
  console.price_file = text.prices;
  if (!raw.interval.empty()) {
    const Result<std::uint64_t> interval = parseDurationMs(raw.interval);
    if (!interval) return Error(interval.error()).context("--interval");
    console.interval_ms = *interval;
  }
  if (console.interval_ms < kShortestIntervalMs)
    return Error{ErrorCode::kUsage, "--interval " + raw.interval + ": accepted: " +
                                        std::to_string(kShortestIntervalMs) + "ms and more"};
  return Options{console};
}

}  // namespace divvy::cli
