#include "controllers/agent_handshake_controller.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "base/quantity.h"
#include "log/log.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

// The contract's: agents report twice as rarely.
constexpr std::chrono::seconds kLook{15};
// Writes of one look are spread over so long, with no longer pauses than that.
constexpr std::chrono::milliseconds kSpread{7'500};
constexpr std::chrono::milliseconds kMaxPause{50};
constexpr const char* kRequesting = "Requesting";
constexpr const char* kReported = "Reported";
constexpr const char* kDeleted = "Deleted";

bool usable(const kube::Node& node, const vendors::Kind& kind) {
  const std::string& resource = kind.count.resource.empty() ? kind.slice : kind.count.resource;
  const auto found = node.allocatable.find(resource);
  if (found == node.allocatable.end()) return false;
  const Result<Quantity> amount = Quantity::parse(found->second);
  return !amount || amount->whole().value_or(1) > 0;
}

bool overdue(const std::string& text, engine::Instant since, bool is_usable, engine::Instant now) {
  return text.starts_with(kRequesting) && !is_usable &&
         now.ms - since.ms >= Handshakes::kPatienceMs;
}

}  // namespace

std::string requestText(std::int64_t seconds) {
  const std::time_t at = seconds;
  std::tm parts{};
  char text[32] = {};
  if (::localtime_r(&at, &parts) != nullptr)
    std::strftime(text, sizeof text, "_%Y-%m-%d %H:%M:%S", &parts);
  return std::string(kRequesting) + text;
}

std::string requestPatch(const std::string& uid, const std::map<std::string, std::string>& said,
                         const std::string& text) {
  const auto step = [](const char* what, const std::string& path, const std::string& value) {
    return json::object{{"op", what}, {"path", path}, {"value", value}};
  };
  json::array steps{step("test", "/metadata/uid", uid)};
  for (const auto& [key, old] : said) {
    // RFC 6901: the separator of members, and the escape character.
    std::string path = "/metadata/annotations/";
    for (const char c : key) path += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    steps.push_back(step("test", path, old));
    steps.push_back(step("replace", path, text));
  }
  return json::serialize(steps);
}

kube::Node Handshakes::observe(kube::Node node, engine::Instant now) {
  std::map<std::string, Said> fresh;
  const auto known = nodes_.find(node.meta.uid);
  for (const vendors::Kind* kind : catalog_.kinds()) {
    const std::string& key = kind->wire.node.handshake;
    const auto text = key.empty() ? node.meta.annotations.end() : node.meta.annotations.find(key);
    if (text == node.meta.annotations.end()) continue;
    const bool is_usable = usable(node, *kind);
    // Of kinds that share a key one is enough.
    Said& said = fresh.try_emplace(key, Said{text->second, now, false, false}).first->second;
    said.usable = said.usable || is_usable;
  }
  if (known != nodes_.end())
    for (auto& [key, said] : fresh) {
      const auto before = known->second.said.find(key);
      if (before != known->second.said.end() && before->second.text == said.text)
        said.since = before->second.since;
    }
  for (auto& [key, said] : fresh) said.silent = overdue(said.text, said.since, said.usable, now);
  if (fresh.empty()) {
    remove(node.meta.uid);
    return node;
  }
  Known& kept = nodes_[node.meta.uid];
  kept = {std::move(node), std::move(fresh)};
  return withoutSilentAgents(kept);
}

kube::Node Handshakes::withoutSilentAgents(const Known& known) const {
  kube::Node node = known.node;
  for (const auto& [key, said] : known.said)
    if (said.silent) node.meta.annotations[key] = kDeleted;
  return node;
}

std::vector<kube::Node> Handshakes::fallenSilent(engine::Instant now) {
  std::vector<kube::Node> changed;
  for (auto& [uid, known] : nodes_) {
    bool other = false;
    for (auto& [key, said] : known.said) {
      const bool is = overdue(said.text, said.since, said.usable, now);
      other = other || is != said.silent;
      said.silent = is;
    }
    if (other) changed.push_back(withoutSilentAgents(known));
  }
  return changed;
}

std::vector<Handshakes::PendingHandshake> Handshakes::due() const {
  std::vector<PendingHandshake> all;
  for (const auto& [uid, known] : nodes_) {
    PendingHandshake due{known.node.meta.name, known.node.meta.uid, {}};
    for (const auto& [key, said] : known.said)
      if (said.text.starts_with(kReported)) due.said.emplace(key, said.text);
    if (!due.said.empty()) all.push_back(std::move(due));
  }
  return all;
}

bool Handshakes::stands(const PendingHandshake& due) const {
  const auto known = nodes_.find(due.uid);
  if (known == nodes_.end()) return false;
  return std::all_of(due.said.begin(), due.said.end(), [&](const auto& one) {
    const auto now = known->second.said.find(one.first);
    return now != known->second.said.end() && now->second.text == one.second;
  });
}

AgentHandshakeController::AgentHandshakeController(asio::any_io_executor executor,
                                                   kube::Client& client,
                                                   const vendors::Catalog& catalog, Options options)
    : executor_(std::move(executor)),
      client_(client),
      options_(std::move(options)),
      handshakes_(catalog) {}

void AgentHandshakeController::start() {
  asio::co_spawn(executor_, run(), rethrow);
}

kube::Node AgentHandshakeController::observe(kube::Node node) {
  return handshakes_.observe(std::move(node), now());
}

asio::awaitable<void> AgentHandshakeController::run() {
  while (!*options_.stopped) {
    asio::steady_timer pause(executor_, kLook);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    for (const kube::Node& node : handshakes_.fallenSilent(now())) {
      log::warn("agent does not answer its handshake; its devices are not given to pods",
                {{"node", node.meta.name}});
      options_.on_silent(node);
    }
    if (!options_.writes || !options_.why_not().empty()) continue;
    std::vector<Handshakes::PendingHandshake> all = handshakes_.due();
    for (Handshakes::PendingHandshake& due : all) {
      if (*options_.stopped || !options_.why_not().empty()) break;
      // Its turn may come seconds after the look.
      if (!handshakes_.stands(due)) continue;
      co_await ask(std::move(due));
      pause.expires_after(std::min(kMaxPause, kSpread / static_cast<int>(all.size())));
      co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }
}

asio::awaitable<void> AgentHandshakeController::ask(Handshakes::PendingHandshake due) {
  constexpr std::int64_t kNano = 1'000'000'000;
  kube::Call call{kube::Verb::kPatch, "/api/v1/nodes/" + due.node};
  call.type = kube::kJsonPatch;
  call.body = requestPatch(due.uid, due.said, requestText(wallNanoseconds() / kNano));
  call.still = [this] { return options_.why_not().empty(); };
  const Result<json::value> done = co_await client_.ask(std::move(call));
  if (done) co_return;
  // Gone, or another node of that name, or a new handshake (422): the next round finds out.
  const ErrorCode code = done.error().code();
  if (code != ErrorCode::kNotFound && code != ErrorCode::kUsage)
    log::warn("cannot ask an agent for its handshake", {{"error", done.error().message()}});
}

}  // namespace divvy::scheduler
