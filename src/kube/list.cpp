// Client::list: a collection, page by page. The server makes a page while the one before is read:
// of 50,000 pods each takes about half the time.
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "asio.h"
#include "kube/client.h"
#include "members.h"
#include "query.h"

namespace divvy::kube {
namespace {

constexpr unsigned kMostRestarts = 3;

// A question that is under way while something else is done.
struct Ahead {
  explicit Ahead(const asio::any_io_executor& executor)
      : done(executor, asio::steady_timer::time_point::max()) {}

  std::optional<Result<Reply>> reply;
  asio::steady_timer done;  // cancelled when there is a reply
};

asio::awaitable<void> await(Client& client, Call call, std::shared_ptr<Ahead> into) {
  into->reply = co_await client.send(std::move(call));
  into->done.cancel();
}

// Who starts it waits for the reply: it is by his client.
std::shared_ptr<Ahead> askAhead(Client& client, const asio::any_io_executor& executor, Call call) {
  auto ahead = std::make_shared<Ahead>(executor);
  asio::co_spawn(executor, await(client, std::move(call), ahead), asio::detached);
  return ahead;
}

Call pageOf(const std::string& path, const std::string& query, std::string_view token) {
  std::string page = with(query, "limit=500");
  if (!token.empty()) page += "&continue=" + encoded(token);
  return {Verb::kGet, joined(path, page)};
}

// Where a list goes on, by its first bytes: it has its metadata before its items. Empty: nowhere,
// or it does not say so there.
std::string_view goesOnAt(std::string_view body) {
  constexpr std::size_t kHead = 4096;
  constexpr std::string_view kName = "\"continue\":\"";
  const std::string_view head = body.substr(0, std::min(kHead, body.find("\"items\"")));
  const std::size_t name = head.find(kName);
  if (name == std::string_view::npos) return {};
  const std::string_view rest = head.substr(name + kName.size());
  const std::size_t end = rest.find('"');
  if (end == std::string_view::npos || rest.substr(0, end).find('\\') != std::string_view::npos)
    return {};
  return rest.substr(0, end);
}

struct Position {
  std::string version, next;  // empty: there is no more
};

Result<Position> readPage(const std::string& text,
                          const std::function<void(const json::value&)>& each) {
  error_code fault;
  // A page is thousands of small pieces that live and end together.
  json::monotonic_resource arena(text.size());
  const json::value body = parsed(text, &fault, &arena);
  if (fault || !body.is_object() || !body.get_object().contains("items"))
    return Error{ErrorCode::kCorrupt, "the answer is no list"};
  Position at;
  Members members(body, "");
  members.in("metadata", [&](Members& meta) {
    meta.text("resourceVersion", &at.version);
    meta.text("continue", &at.next);
  });
  if (!members.ok()) return members.error();
  if (const json::array* items = body.get_object().at("items").if_array())
    for (const json::value& item : *items) each(item);
  return at;
}

}  // namespace

asio::awaitable<Result<std::string>> Client::list(const std::string& path, const std::string& query,
                                                  std::function<void()> begin,
                                                  std::function<void(const json::value&)> each) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const std::string what = "listing " + path;
  std::string next;
  std::optional<Result<Reply>> early;
  unsigned restarts = 0;
  begin();
  for (;;) {
    Result<Reply> reply = Error{ErrorCode::kUnavailable, "not asked yet"};
    if (early) {
      reply = std::move(*early);
      early.reset();
    } else {
      reply = co_await send(pageOf(path, query, next));
    }
    if (!reply) co_return std::move(reply).error().context(what);
    if (reply->status == 410 && !next.empty() && ++restarts <= kMostRestarts) {
      next.clear();
      begin();
      continue;
    }
    if (!reply->good()) co_return errorOf(*reply).context(what);
    const std::string guessed(goesOnAt(reply->body));
    std::shared_ptr<Ahead> ahead;
    if (!guessed.empty()) ahead = askAhead(*this, executor, pageOf(path, query, guessed));
    Result<Position> read = readPage(reply->body, each);
    // Also where it is of no use: it is this client's.
    if (ahead && !ahead->reply) co_await ahead->done.async_wait(kNoThrow);
    if (!read) co_return std::move(read).error().context(what);
    if (read->next.empty()) co_return read->version;
    if (ahead && read->next == guessed) early = std::move(ahead->reply);
    next = std::move(read->next);
  }
}

}  // namespace divvy::kube
