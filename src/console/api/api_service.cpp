#include "api/api_service.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "api/body_reader.h"
#include "api/history_queries.h"
#include "api/reply.h"

namespace divvy::console {
namespace {

namespace asio = boost::asio;
namespace bj = boost::json;

constexpr std::uint64_t kMaxBody = std::uint64_t{64} << 10;
constexpr std::size_t kSecretBytes = 32;

std::vector<std::pair<std::string, std::string>> wordsOf(const http::Query& query) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const http::Parameter& word : query.parameters.all())
    words.emplace_back(word.name, word.value);
  return words;
}

bj::array sourceRows(const NodeView& view) {
  bj::array rows;
  for (const SourceState& source : view.sources) rows.push_back(source.row());
  return rows;
}

bj::value instantOrNull(std::int64_t ms) {
  return ms == 0 ? bj::value(nullptr) : bj::value(ms);
}

// std::runtime_error: the kernel gives none, so there can be no session.
std::string randomBytes() {
  std::array<char, kSecretBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("the kernel gives no random bytes");
  return {bytes.data(), bytes.size()};
}

// The state of the data that an answer was made of.
void addState(bj::object& object, const NodeView& view) {
  object["data_time_ms"] = instantOrNull(view.data_ms);
  object["sources"] = sourceRows(view);
}

Result<std::vector<std::string>> topicsOf(const http::Query& query) {
  const std::string* text = query.parameter("topics");
  std::vector<std::string> chosen;
  std::string accepted;
  for (const std::string_view topic : topics())
    accepted += (accepted.empty() ? "" : ", ") + std::string(topic);
  for (std::size_t at = 0; text != nullptr && at <= text->size();) {
    const std::size_t end = std::min(text->find(',', at), text->size());
    const std::string topic = text->substr(at, end - at);
    if (std::find(topics().begin(), topics().end(), topic) == topics().end() ||
        std::find(chosen.begin(), chosen.end(), topic) != chosen.end())
      return Error{ErrorCode::kUsage, "topics: accepted are, each once, with commas: " + accepted};
    chosen.push_back(topic);
    at = end + 1;
  }
  if (chosen.empty()) return Error{ErrorCode::kUsage, "topics: accepted are: " + accepted};
  return chosen;
}

// Counts a call from its begin to its end, however it ends. The console may end before the call.
class CountedCall {
 public:
  explicit CountedCall(std::shared_ptr<unsigned> count) : count_(std::move(count)) { ++*count_; }
  ~CountedCall() { --*count_; }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

 private:
  std::shared_ptr<unsigned> count_;
};

// Runs a blocking call on the pool. `call` must last until then. (A result of co_spawn needs a
// default value. The closure has no destructor: GCC 12 destroys one in a co_await twice.)
template <typename T>
asio::awaitable<T> onPool(asio::thread_pool& pool, const std::function<T()>& call) {
  const std::function<T()>* const work = &call;
  std::optional<T> result = co_await asio::co_spawn(
      pool, [work]() -> asio::awaitable<std::optional<T>> { co_return (*work)(); },
      asio::use_awaitable);
  co_return std::move(*result);
}

}  // namespace

ApiService::ApiService(const ApiParts& parts, std::function<void()> session_opened)
    : parts_(parts),
      sessions_(randomBytes),
      guard_(sessions_, parts.options.port, parts.options.base_path),
      hub_(std::to_string(nowMs()),
           [this](const std::string& cookie) {
             return sessions_.find(cookie, steadyMs()) != nullptr;
           }),
      session_opened_(std::move(session_opened)),
      // Totals of no agent, until the agents have been read.
      view_(std::make_shared<const NodeView>(ViewBuilder(nullptr).build({}, nowMs()))) {}

void ApiService::publish(const NodeView& before, std::shared_ptr<const NodeView> now) {
  view_ = std::move(now);
  has_view_ = true;
  hub_.publish(before, *view_);
}

void ApiService::addRead(std::vector<http::Route>& out, const std::string& path, Handler handler) {
  out.push_back({"GET", parts_.options.base_path + "api/v1/" + path, 0,
                 [this, handler](http::Query query) -> Awaited {
                   std::variant<const Session*, http::Answer> found = guard_.session(query);
                   if (auto* refused = std::get_if<http::Answer>(&found))
                     co_return std::move(*refused);
                   co_return (this->*handler)(query, *std::get<const Session*>(found));
                 }});
}

void ApiService::addList(std::vector<http::Route>& out, const List& list) {
  const std::string path = parts_.options.base_path + "api/v1/" + std::string(list.kind.name);
  const auto guarded = [this, list](auto answer) {
    return [this, list, answer](http::Query query) -> Awaited {
      std::variant<const Session*, http::Answer> found = guard_.session(query);
      if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
      co_return (this->*answer)(query, list);
    };
  };
  out.push_back({"GET", path, 0, guarded(&ApiService::listAnswer)});
  out.push_back({"GET", path + "/{id...}", 0, guarded(&ApiService::itemAnswer)});
}

void ApiService::addRoutes(std::vector<http::Route>& out) {
  const std::string api = parts_.options.base_path + "api/v1/";
  out.push_back({"POST", api + "session", kMaxBody,
                 [this](http::Query query) -> Awaited { co_return openSession(query); }});
  out.push_back({"DELETE", api + "session", 0,
                 [this](http::Query query) -> Awaited { co_return closeSession(query); }});
  out.push_back({"POST", api + "explain", kMaxBody,
                 [this](http::Query query) { return explain(std::move(query)); }});
  out.push_back({"POST", api + "changes", kMaxBody,
                 [this](http::Query query) { return change(std::move(query)); }});
  addRead(out, "session", &ApiService::sessionAnswer);
  addRead(out, "overview", &ApiService::overviewAnswer);
  addRead(out, "series", &ApiService::seriesAnswer);
  addRead(out, "usage", &ApiService::usageAnswer);
  addRead(out, "usage.csv", &ApiService::usageCsv);
  addRead(out, "stream", &ApiService::streamAnswer);
  addRead(out, "about", &ApiService::aboutAnswer);
  addList(out, {{"nodes", &nodeFields(), "node", {"node", "driver"}}, &NodeView::nodes});
  addList(out, {{"devices", &deviceFields(), "index", {"uuid", "model", "node", "pool"}},
                &NodeView::devices});
  addList(out, {{"shares", &shareFields(), "name", {"name", "tenant", "node", "command", "note"}},
                &NodeView::shares});
  addList(out, {{"waiting", &waitingFields(), "position", {"name", "node", "reason"}},
                &NodeView::waiting});
  addList(out, {{"events", &eventFields(), "-time_ms", {"text", "name", "kind", "node", "actor"}},
                &NodeView::events});
}

http::Answer ApiService::listAnswer(const http::Query& query, const List& list) const {
  const Result<ListQuery> asked = readListQuery(list.kind, wordsOf(query));
  if (!asked) return errorAnswer(asked.error());
  std::vector<const Row*> rows;
  for (const auto& [id, row] : (*view_).*list.rows) rows.push_back(&row);
  Result<ListPage> page = selectPage(rows, list.kind, *asked);
  if (!page) return errorAnswer(page.error());
  bj::array items;
  for (Row& row : page->items) items.push_back(std::move(row));
  bj::object object{{"items", std::move(items)},
                    {"total", page->total},
                    {"next", page->next.empty() ? bj::value(nullptr) : bj::value(page->next)}};
  addState(object, *view_);
  return jsonAnswer(std::move(object));
}

http::Answer ApiService::itemAnswer(const http::Query& query, const List& list) const {
  const auto& rows = (*view_).*list.rows;
  const auto at = rows.find(query.capture("id"));
  if (at == rows.end())
    return errorAnswer(404, "not-found",
                       "there is no such entry now; it has ended, or its node does not answer");
  bj::object object{{"item", at->second}};
  addState(object, *view_);
  return jsonAnswer(std::move(object));
}

http::Answer ApiService::openSession(const http::Query& query) {
  if (std::optional<http::Answer> refused = guard_.refuse(query, true)) return std::move(*refused);
  boost::system::error_code fault;
  const bj::value body = bj::parse(query.body, fault);
  const bj::value* token =
      !fault && body.is_object() ? body.get_object().if_contains("token") : nullptr;
  if (token == nullptr || !token->is_string())
    return errorAnswer(400, "usage", "the body: accepted is {\"token\": \"...\"}");
  const std::optional<std::string> cookie =
      sessions_.open(std::string_view(token->get_string()), parts_.options.user, steadyMs());
  if (!cookie)
    return errorAnswer(401, "unauthenticated",
                       "this link was used or is not valid; open the link that divvy console "
                       "printed last");
  session_opened_();
  http::Answer answer = sessionAnswer(query, *sessions_.find(*cookie, steadyMs()));
  answer.fields.set("Set-Cookie", guard_.setCookie(*cookie));
  return answer;
}

http::Answer ApiService::closeSession(const http::Query& query) {
  std::variant<const Session*, http::Answer> found = guard_.changingSession(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) return std::move(*refused);
  const std::string cookie = guard_.cookieOf(query);
  sessions_.close(cookie);
  hub_.endSession(cookie, "the viewer has signed out");
  http::Answer answer;
  answer.status = 204;
  answer.fields.set("Set-Cookie", guard_.setCookie(""));
  return answer;
}

http::Answer ApiService::sessionAnswer(const http::Query&, const Session& session) {
  const ConsoleOptions& options = parts_.options;
  return jsonAnswer({
      {"user", session.user},
      {"mode", "local"},
      {"way_in", session.way_in},
      {"csrf", session.csrf},
      {"version", options.version},
      {"node", view_->sources.empty() ? std::string() : view_->sources.front().node},
      {"can", bj::object{{"change", options.allow_changes}, {"plan", true}}},
      {"changes", bj::object{{"enabled", options.allow_changes},
                             {"how", "start the console with --allow-changes"}}},
      {"history", historyState(parts_.history, options.history_file.empty())},
      {"poll_ms", options.interval.count()},
      {"base_path", options.base_path},
  });
}

http::Answer ApiService::overviewAnswer(const http::Query&, const Session&) {
  bj::object object = view_->overview;
  addState(object, *view_);
  return jsonAnswer(std::move(object));
}

http::Answer ApiService::seriesAnswer(const http::Query& query, const Session&) {
  Result<bj::object> series = seriesOf(parts_.history, query, nowMs());
  return series ? jsonAnswer(std::move(*series)) : errorAnswer(series.error());
}

http::Answer ApiService::usageAnswer(const http::Query& query, const Session&) {
  const Result<std::vector<UsageSum>> sums = usageOf(parts_.history, query, nowMs());
  if (!sums) return errorAnswer(sums.error());
  bj::array items;
  for (const UsageSum& sum : *sums)
    items.push_back(bj::object{{"key", sum.key},
                               {"name", sum.name},
                               {"device_hours", sum.device_hours},
                               {"allocated_device_hours", sum.allocated_device_hours},
                               {"memory_byte_hours", sum.memory_byte_hours},
                               {"throttled_ms", sum.throttled_ms}});
  return jsonAnswer({{"items", std::move(items)}});
}

http::Answer ApiService::usageCsv(const http::Query& query, const Session&) {
  const Result<std::vector<UsageSum>> sums = usageOf(parts_.history, query, nowMs());
  if (!sums) return errorAnswer(sums.error());
  http::Answer answer;
  answer.body = usageTable(*sums);
  answer.type = "text/csv; charset=utf-8";
  answer.fields.set("Content-Disposition", "attachment; filename=\"divvy-usage.csv\"");
  answer.fields.set("Cache-Control", "no-store");
  return answer;
}

http::Answer ApiService::streamAnswer(const http::Query& query, const Session&) {
  Result<std::vector<std::string>> chosen = topicsOf(query);
  if (!chosen) return errorAnswer(chosen.error());
  std::string_view last = query.header("Last-Event-ID");
  const std::string* since = query.parameter("since");
  if (last.empty() && since != nullptr) last = *since;
  http::Answer answer;
  answer.type = "text/event-stream";
  answer.fields.set("Cache-Control", "no-store");
  answer.fields.set("X-Accel-Buffering", "no");
  answer.stream = hub_.add(guard_.cookieOf(query), std::move(*chosen), last);
  return answer;
}

http::Answer ApiService::aboutAnswer(const http::Query&, const Session&) {
  const ConsoleOptions& options = parts_.options;
  bj::array configuration;
  for (const auto& [name, value] : options.configuration)
    configuration.push_back(bj::object{{"name", name}, {"value", value}});
  return jsonAnswer({
      {"version", options.version},
      {"commit", options.commit},
      {"configuration", std::move(configuration)},
      {"health",
       bj::object{
           {"loop_late_ms", loop_late_ms_ < 0 ? bj::value(nullptr) : bj::value(loop_late_ms_)},
           {"streams", hub_.size()},
           {"sessions", sessions_.size()},
           {"history", historyState(parts_.history, options.history_file.empty())}}},
  });
}

ApiService::Awaited ApiService::explain(http::Query query) {
  std::variant<const Session*, http::Answer> found = guard_.changingSession(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  const Result<Question> question = readQuestion(query.body);
  if (!question) co_return errorAnswer(question.error());
  if (*calls_ >= kMaxCalls)
    co_return errorAnswer(503, "busy", "the agent answers other questions; ask again");
  const CountedCall counted(calls_);
  const std::function<Result<agent::ExplainReply>()> call = [this, &question] {
    return parts_.source.explain(question->node, question->request);
  };
  const Result<agent::ExplainReply> reply = co_await onPool(parts_.blocking, call);
  co_return reply ? jsonAnswer(explanationOf(*reply)) : errorAnswer(reply.error());
}

ApiService::Awaited ApiService::change(http::Query query) {
  std::variant<const Session*, http::Answer> found = guard_.changingSession(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  if (!parts_.options.allow_changes)
    co_return errorAnswer(403, "forbidden",
                          "changes are off; start the console with --allow-changes");
  Result<ShareChange> change = readChange(query.body);
  if (!change) co_return errorAnswer(change.error());
  const auto share = view_->shares.find(change->share);
  if (share == view_->shares.end())
    co_return errorAnswer(404, "not-found", "the share has ended; nothing was changed");
  const Result<std::vector<std::string>> effects = effectsOf(*change, share->second);
  if (!effects) co_return errorAnswer(effects.error());
  bj::object object{{"dry_run", change->dry_run}, {"effects", bj::value_from(*effects)}};
  object["refused"] = nullptr;
  if (change->dry_run) co_return jsonAnswer(std::move(object));
  if (*calls_ >= kMaxCalls)
    co_return errorAnswer(503, "busy", "the agent makes other changes; try again");
  change->request.tenant = std::string(share->second.at("tenant").get_string());
  const std::string node(share->second.at("node").get_string());
  const CountedCall counted(calls_);
  const std::function<Result<void>()> call = [this, node, &change] {
    return parts_.source.change(node, change->request);
  };
  const Result<void> done = co_await onPool(parts_.blocking, call);
  if (!done)
    object["refused"] = bj::object{{"code", "conflict"}, {"message", done.error().message()}};
  co_return jsonAnswer(std::move(object));
}

}  // namespace divvy::console
