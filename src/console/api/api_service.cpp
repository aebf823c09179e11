#include "api/api_service.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>

#include "api/history_queries.h"
#include "api/reply.h"
#include "view/agent_view.h"
#include "view/cluster_view.h"

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

bj::array sourceRows(const ConsoleView& view) {
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
void addState(bj::object& object, const ConsoleView& view) {
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

// Totals of nothing, until the source has been read.
std::shared_ptr<const ConsoleView> firstView(const ApiParts& parts) {
  return std::make_shared<const ConsoleView>(parts.cluster != nullptr
                                                 ? ClusterViewBuilder().build({}, nowMs())
                                                 : ViewBuilder(nullptr).build({}, nowMs()));
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
      questions_(parts, guard_),
      session_opened_(std::move(session_opened)),
      view_(firstView(parts)) {}

void ApiService::publish(const ConsoleView& before, std::shared_ptr<const ConsoleView> now) {
  view_ = std::move(now);
  questions_.setView(view_);
  // Of agents, those that do not answer are shown, too.
  has_view_ = parts_.cluster == nullptr || view_->data_ms != 0;
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
  addRead(out, "session", &ApiService::sessionAnswer);
  addRead(out, "overview", &ApiService::overviewAnswer);
  addRead(out, "series", &ApiService::seriesAnswer);
  addRead(out, "usage", &ApiService::usageAnswer);
  addRead(out, "usage.csv", &ApiService::usageCsv);
  addRead(out, "stream", &ApiService::streamAnswer);
  addRead(out, "about", &ApiService::aboutAnswer);
  for (const List& list : parts_.cluster != nullptr ? clusterLists() : machineLists())
    addList(out, list);
  questions_.addRoutes(out);
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
  const bool changes = options.allow_changes && parts_.cluster == nullptr;
  return jsonAnswer({
      {"user", session.user},
      {"mode", parts_.cluster != nullptr ? "cluster" : "local"},
      {"way_in", session.way_in},
      {"csrf", session.csrf},
      {"version", options.version},
      {"node", placeName()},
      {"can", bj::object{{"change", changes}, {"plan", true}}},
      {"changes", bj::object{{"enabled", changes},
                             {"how", parts_.cluster != nullptr
                                         ? "changes from a cluster's page are not available yet"
                                         : "start the console with --allow-changes"}}},
      {"history", historyState(parts_.history, options.history_file.empty())},
      {"poll_ms", options.interval.count()},
      {"base_path", options.base_path},
  });
}

std::string ApiService::placeName() const {
  if (!parts_.options.place.empty()) return parts_.options.place;
  return view_->sources.empty() ? std::string() : view_->sources.front().node;
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
  // Without agents no use of a cluster is known.
  const bool use_known = parts_.cluster == nullptr ||
                         !view_->overview.at("funnel").at("compute").at("used_percent").is_null();
  bj::array items;
  for (const UsageSum& sum : *sums)
    items.push_back(
        bj::object{{"key", sum.key},
                   {"name", sum.name},
                   {"device_hours", use_known ? bj::value(sum.device_hours) : bj::value(nullptr)},
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

}  // namespace divvy::console
