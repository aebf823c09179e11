#include "kube/client.h"

#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "base/http_status.h"
#include "base/token_bucket.h"
#include "client/connection.h"
#include "client/exec_credential.h"
#include "client/query.h"
#include "objects/members.h"

namespace divvy::kube {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxIdle = 8;
constexpr seconds kMaxPatience{30};
constexpr unsigned kMaxRestarts = 3;
// The server ends a watch after about this time, and sends bookmarks about every minute before.
constexpr unsigned kWatchSeconds = 300;
constexpr seconds kQuiet{150};
// API servers close connections that were idle for 90 s.
constexpr seconds kMaxSilent{30};
// Credentials are renewed this long before they expire. Younger ones are not renewed.
constexpr seconds kRenewBefore{10};
constexpr seconds kFresh{5};
asio::awaitable<void> pause(steady_clock::duration time) {
  if (time <= steady_clock::duration{0}) co_return;
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(kNoThrow);
}

Rate rateOf(const ClientOptions& options) {
  return {options.per_second, options.burst};
}

bool later(const Reply& reply) {
  return reply.status == http_status::kTooManyRequests ||
         (reply.status == http_status::kServiceUnavailable && reply.retry_after);
}

}  // namespace

struct Client::Impl {
  Impl(asio::any_io_executor where, Access who, ClientOptions given,
       std::shared_ptr<asio::ssl::context> context)
      : executor(std::move(where)),
        access(std::move(who)),
        terms(given),
        tls(std::move(context)),
        rate(rateOf(given)) {}

  bool credentialGood() const {
    if (!credential) return false;
    if (!credential->until) return true;
    // In seconds: in the clock's own unit a distant instant would overflow into the past.
    const auto now = std::chrono::floor<seconds>(std::chrono::system_clock::now());
    return now + kRenewBefore < *credential->until;
  }

  // For credentials of a program: it runs if there is no valid credential, once for all callers
  // that wait.
  asio::awaitable<Result<void>> authenticate() {
    if (!access.exec || credentialGood()) co_return Result<void>();
    if (asked != nullptr) {
      const auto others = asked;
      co_await others->async_wait(kNoThrow);
      if (!asked_fault.empty()) co_return Error{ErrorCode::kUnavailable, asked_fault};
      co_return Result<void>();
    }
    asked = std::make_shared<asio::steady_timer>(executor, steady_clock::time_point::max());
    Result<Credential> got = co_await runPlugin(*access.exec, terms.bound);
    Result<void> used = got ? use(std::move(*got)) : Result<void>(got.error());
    asked_fault = used ? "" : used.error().message();
    asked->cancel();
    asked.reset();
    co_return used;
  }

  Result<void> use(Credential fresh) {
    if (!fresh.certificate.empty() && fresh.certificate != access.certificate) {
      Access changed = access;
      changed.certificate = fresh.certificate;
      changed.key = fresh.key;
      if (changed.tls) {
        Result<std::shared_ptr<asio::ssl::context>> made = tlsContext(changed);
        if (!made) return made.error();
        tls = std::move(*made);
        idle.clear();  // they belong to the former identity
      }
      access = std::move(changed);
    }
    access.token = fresh.token;
    credential = std::move(fresh);
    run_at = steady_clock::now();
    return {};
  }

  // A credential that the server refuses is renewed, unless it is new. Returns true if it was
  // dropped.
  bool distrust() {
    if (!access.exec || !credential || steady_clock::now() - run_at < kFresh) return false;
    credential.reset();
    return true;
  }

  // Tokens of pods are renewed in their file.
  const std::string& token() {
    const auto now = steady_clock::now();
    if (!access.token_file.empty() && (now - read_at > terms.token_age || read_at == Never{})) {
      std::ifstream file(access.token_file);
      std::ostringstream text;
      if (file) text << file.rdbuf();
      std::string found = text.str();
      while (!found.empty() && (found.back() == '\n' || found.back() == ' ')) found.pop_back();
      if (!found.empty()) access.token = std::move(found);
      read_at = now;
    }
    return access.token;
  }

  asio::awaitable<Result<std::unique_ptr<Connection>>> open() {
    auto link = std::make_unique<Connection>(executor, tls);
    const Result<void> connected = co_await link->connect(access, terms.bound);
    if (!connected) co_return connected.error();
    co_return link;
  }

  // One request and reply, on an open connection or a new one.
  asio::awaitable<Result<Reply>> once(const Call& call) {
    const Result<void> known = co_await authenticate();
    if (!known) co_return known.error();
    std::unique_ptr<Connection> link;
    const auto old = steady_clock::now() - kMaxSilent;
    std::erase_if(idle, [&](const Kept& one) { return one.since < old; });
    const bool kept = !idle.empty();
    if (kept) {
      link = std::move(idle.back().link);
      idle.pop_back();
    } else {
      Result<std::unique_ptr<Connection>> opened = co_await open();
      if (!opened) co_return opened.error();
      link = std::move(*opened);
    }
    if (call.still && !call.still()) {
      idle.push_back({std::move(link), steady_clock::now()});
      co_return Error{ErrorCode::kUnavailable, "not sent: it is not wanted any more"};
    }
    ++calls;
    Result<Reply> reply = co_await link->exchange(access, call, token(), terms.bound);
    if (!reply && kept && link->unanswered()) {
      idle.clear();  // probably closed as well
      if (call.verb == Verb::kGet) co_return co_await once(call);
    }
    if (reply && link->reusable() && idle.size() < kMaxIdle)
      idle.push_back({std::move(link), steady_clock::now()});
    co_return reply;
  }

  using Never = steady_clock::time_point;
  asio::any_io_executor executor;
  Access access;
  ClientOptions terms;
  std::shared_ptr<asio::ssl::context> tls;
  TokenBucket rate;
  struct Kept {
    std::unique_ptr<Connection> link;
    steady_clock::time_point since;
  };
  std::vector<Kept> idle;
  steady_clock::time_point read_at{};
  std::optional<Credential> credential;  // from a program
  steady_clock::time_point run_at{};     // when the program was run
  // set while the program runs; cancelled when it has ended
  std::shared_ptr<asio::steady_timer> asked;
  std::string asked_fault;  // of the last run; empty: none
  std::size_t calls = 0;
};

Result<std::unique_ptr<Client>> Client::make(asio::any_io_executor executor, Access access,
                                             ClientOptions terms) {
  std::shared_ptr<asio::ssl::context> tls;
  if (access.exec) {
    const Result<void> supported = checkPlugin(*access.exec);
    if (!supported) return supported.error();
  }
  if (access.tls) {
    Result<std::shared_ptr<asio::ssl::context>> made = tlsContext(access);
    if (!made) return made.error();
    tls = std::move(*made);
  }
  return std::unique_ptr<Client>(new Client(
      std::make_unique<Impl>(std::move(executor), std::move(access), terms, std::move(tls))));
}

Client::Client(std::unique_ptr<Impl> inside) : impl_(std::move(inside)) {}
Client::~Client() = default;

const Access& Client::access() const {
  return impl_->access;
}
std::size_t Client::calls() const {
  return impl_->calls;
}

asio::awaitable<Result<Reply>> Client::send(Call call) {
  // A path may contain text of another program, so it must not begin another line.
  if (!isPath(call.path))
    co_return Error{ErrorCode::kUsage, "a path with a blank, or a byte that is not a letter"};
  for (unsigned tries = 1;; ++tries) {
    co_await pause(impl_->rate.reserve(steady_clock::now()));
    Result<Reply> reply = co_await impl_->once(call);
    if (reply && reply->status == http_status::kUnauthorized && impl_->distrust()) continue;
    if (!reply || call.once || !later(*reply) || tries >= impl_->terms.tries) co_return reply;
    const seconds asked = reply->retry_after.value_or(seconds(1));
    co_await pause(std::min(asked, kMaxPatience));
  }
}

asio::awaitable<Result<json::value>> Client::ask(Call call) {
  const std::string path = call.path;
  Result<Reply> reply = co_await send(std::move(call));
  if (!reply) co_return std::move(reply).error().context(path);
  if (!reply->good()) co_return errorOf(*reply).context(path);
  error_code fault;
  json::value body = parsed(reply->body, &fault);
  if (fault)
    co_return Error{ErrorCode::kCorrupt, path + ": the answer is not JSON: " + fault.message()};
  co_return body;
}

namespace {

// The content of one line of a watch.
struct Heard {
  WatchEnd end = WatchEnd::kEnded;
  std::string* version;
  std::function<bool(const WatchEvent&)> each;
  std::string fault;

  bool line(std::string_view text) {
    error_code broken;
    json::value said = parsed(text, &broken);
    json::object* object = said.if_object();
    if (broken || object == nullptr || object->if_contains("object") == nullptr) {
      fault = "a line is not an event";
      return false;
    }
    WatchEvent event;
    Members(said, "").text("type", &event.type);
    event.object = std::move(object->at("object"));
    if (event.type == "ERROR") {
      std::int64_t code = 0;
      std::string message;
      Members status(event.object, "");
      status.number("code", &code);
      status.text("message", &message);
      if (code == http_status::kGone) {
        end = WatchEnd::kTooOld;
      } else {
        fault = "the server ended it: " + std::to_string(code) + ' ' + message;
      }
      return false;
    }
    Members(event.object, "").in("metadata", [&](Members& meta) {
      meta.text("resourceVersion", version);
    });
    if (each(event)) return true;
    end = WatchEnd::kStopped;
    return false;
  }
};

}  // namespace

asio::awaitable<Result<WatchEnd>> Client::watch(const std::string& path, const std::string& query,
                                                std::string* version,
                                                std::function<bool(const WatchEvent&)> each,
                                                WatchHold* hold) {
  co_await pause(impl_->rate.reserve(steady_clock::now()));
  Result<void> known = co_await impl_->authenticate();
  if (!known) co_return std::move(known).error().context("watching " + path);
  Result<std::unique_ptr<Connection>> link = co_await impl_->open();
  if (!link) co_return std::move(link).error().context("watching " + path);
  const std::string all = with(
      query, "watch=1&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(kWatchSeconds) +
                 "&resourceVersion=" + encoded(*version));
  const Call call{Verb::kGet, joined(path, all)};
  Heard heard{WatchEnd::kEnded, version, std::move(each), {}};
  ++impl_->calls;
  if (hold != nullptr) hold->cut = [&link] { (*link)->cut(); };
  LineHandler taker;
  if (hold != nullptr) taker.opened = hold->opened;
  taker.line = [&](std::string_view line) { return heard.line(line); };
  Result<Reply> reply =
      co_await (*link)->follow(impl_->access, call, impl_->token(), kQuiet, std::move(taker));
  if (hold != nullptr) hold->cut = nullptr;
  if (!reply) co_return std::move(reply).error().context("watching " + path);
  if (reply->status == http_status::kUnauthorized) impl_->distrust();  // the informer tries again
  if (reply->status == http_status::kGone) co_return WatchEnd::kTooOld;
  if (!reply->good()) co_return errorOf(*reply).context("watching " + path);
  if (!heard.fault.empty())
    co_return Error{ErrorCode::kUnavailable, "watching " + path + ": " + heard.fault};
  co_return heard.end;
}

}  // namespace divvy::kube
