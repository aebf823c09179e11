// Client::list, Client::listPods: a collection, page by page. The server prepares a page while the
// previous one is read.
#include "client/list.h"

#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/http_status.h"
#include "client/query.h"
#include "objects/members.h"
#include "objects/pod_list_protobuf.h"

namespace divvy::kube {
namespace {

constexpr unsigned kMaxRestarts = 3;

// A request that is sent while other work is done.
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

// The caller must wait for the reply, because the request uses its client.
std::shared_ptr<Ahead> askAhead(Client& client, const asio::any_io_executor& executor, Call call) {
  auto ahead = std::make_shared<Ahead>(executor);
  asio::co_spawn(executor, await(client, std::move(call), ahead), asio::detached);
  return ahead;
}

// The token of the next page, from the first bytes of a page, where the metadata is. Empty: there
// is no token.
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
  std::string version, next;  // empty: this was the last page
};

Result<Position> readPage(const std::string& text,
                          const std::function<void(const json::value&)>& each) {
  error_code fault;
  // A page consists of thousands of small values with the same lifetime.
  json::monotonic_resource arena(text.size());
  const json::value body = parsed(text, &fault, &arena);
  if (fault || !body.is_object() || !body.get_object().contains("items"))
    return Error{ErrorCode::kCorrupt, "the answer is not a list"};
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

// Reads pages in either format.
class Pages {
 public:
  explicit Pages(const Listing& listing)
      : listing_(listing), protobuf_(static_cast<bool>(listing.pod)) {}

  Call call(std::string_view token) const {
    std::string page = with(listing_.query, "limit=500");
    if (!token.empty()) page += "&continue=" + encoded(token);
    Call call{Verb::kGet, joined(listing_.path, page)};
    if (protobuf_) call.accept = kProtobuf;
    return call;
  }

  static std::string goesOn(std::string_view body) {
    return isProtobuf(body) ? podsGoOnAt(body) : std::string(goesOnAt(body));
  }

  Result<Position> read(const std::string& body) const {
    if (!protobuf_ || !isProtobuf(body)) return readPage(body, listing_.each);
    Result<PodListPage> page = podPageOf(body);
    if (!page) return page.error();
    for (const Pod& pod : page->pods) listing_.pod(pod);
    return Position{std::move(page->version), std::move(page->next)};
  }

  // A page in protobuf that cannot be read is requested again as JSON. None of its items was passed
  // on.
  bool again(const Error& why, std::string_view body) {
    if (!protobuf_ || !isProtobuf(body)) return false;
    if (listing_.trouble) listing_.trouble(why);
    protobuf_ = false;
    return true;
  }

  // API servers send errors in protobuf as well. The request is repeated as JSON for its text.
  bool refusedUnread(std::string_view body) {
    return isProtobuf(body) && std::exchange(protobuf_, false);
  }

 private:
  const Listing& listing_;
  bool protobuf_;
};

}  // namespace

asio::awaitable<Result<std::string>> listed(Client& client, const Listing& listing) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const std::string what = "listing " + listing.path;
  Pages pages(listing);
  std::string next;
  std::optional<Result<Reply>> early;
  unsigned restarts = 0;
  listing.begin();
  for (;;) {
    Result<Reply> reply = Error{ErrorCode::kUnavailable, "not asked yet"};
    if (early) {
      reply = std::move(*early);
      early.reset();
    } else {
      reply = co_await client.send(pages.call(next));
    }
    if (!reply) co_return std::move(reply).error().context(what);
    const bool old =
        reply->status == http_status::kGone && !next.empty() && ++restarts <= kMaxRestarts;
    if (old || (listing.relist_requested && listing.relist_requested())) {
      next.clear();
      listing.begin();
      continue;
    }
    if (!reply->good() && pages.refusedUnread(reply->body)) continue;
    if (!reply->good()) co_return errorOf(*reply).context(what);
    const std::string guessed = Pages::goesOn(reply->body);
    std::shared_ptr<Ahead> ahead;
    if (!guessed.empty()) ahead = askAhead(client, executor, pages.call(guessed));
    Result<Position> read = pages.read(reply->body);
    // Waited for even if it is not needed, because it uses this client.
    if (ahead && !ahead->reply) co_await ahead->done.async_wait(kNoThrow);
    if (!read && pages.again(Error(read.error()).context(what), reply->body)) continue;
    if (!read) co_return std::move(read).error().context(what);
    if (read->next.empty()) co_return read->version;
    if (ahead && read->next == guessed) early = std::move(ahead->reply);
    next = std::move(read->next);
  }
}

asio::awaitable<Result<std::string>> Client::list(const std::string& path, const std::string& query,
                                                  std::function<void()> begin,
                                                  std::function<void(const json::value&)> each) {
  const Listing listing{path, query, std::move(begin), std::move(each)};
  co_return co_await listed(*this, listing);
}

asio::awaitable<Result<std::string>> Client::listPods(const std::string& path,
                                                      const std::string& query,
                                                      std::function<void()> begin,
                                                      std::function<void(const json::value&)> each,
                                                      std::function<void(const Pod&)> pod,
                                                      std::function<void(const Error&)> trouble) {
  const Listing listing{
      path, query, std::move(begin), std::move(each), std::move(pod), std::move(trouble)};
  co_return co_await listed(*this, listing);
}

}  // namespace divvy::kube
