#include "api/api_service.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include <boost/json.hpp>

#include "api/history_queries.h"
#include "api/history_reply.h"
#include "api/pool_call.h"
#include "api/reply.h"
#include "api/size_reply.h"
#include "bodies/body_reader.h"
#include "view/agent_view.h"
#include "view/cluster_view.h"
#include "viewers/viewer_filter.h"

namespace divvy::console {
namespace {

namespace asio = boost::asio;
namespace bj = boost::json;

constexpr std::uint64_t kMaxBody = std::uint64_t{64} << 10;
constexpr std::size_t kSecretBytes = 32;
constexpr double kMsPerSecond = 1000;
constexpr unsigned kMaxReports = 4;  // of a session at the same time

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

bj::value namesOrNull(const NamespaceScope& scope) {
  if (scope.all) return nullptr;
  return bj::array(scope.names.begin(), scope.names.end());
}

bj::object scopeObject(const ViewerScope& scope) {
  return {{"everything", scope.everything()},
          {"nodes", scope.nodes},
          {"queues", scope.queues},
          {"pods", namesOrNull(scope.pods)},
          {"events", namesOrNull(scope.events)}};
}

// Whether changes are on, and the action of a viewer that may make none.
bj::object changesOf(const ApiParts& parts, const Session& session) {
  const bool on = parts.options.allow_changes;
  std::string how = "start the console with --allow-changes";
  if (parts.cluster != nullptr) how += " (chart: console.allowChanges)";
  if (on && !hasOwnRights(session)) how = kSignInWithOwnRights;
  if (session.isNamed())
    how = "the proxy passes on no token of yours, so the page changes nothing; use kubectl";
  return {{"enabled", on}, {"how", how}};
}

// Totals of nothing, until the source has been read.
std::shared_ptr<const ConsoleView> firstView(const ApiParts& parts) {
  return std::make_shared<const ConsoleView>(parts.cluster != nullptr
                                                 ? ClusterViewBuilder().build({}, nowMs())
                                                 : ViewBuilder(nullptr).build({}, nowMs()));
}

}  // namespace

ViewerLogin::Effects ApiService::loginEffects() {
  ViewerLogin::Effects effects;
  effects.scopes_changed = [this] { tellScopes(); };
  effects.has_view = [this](const ViewerScope& scope) {
    return groups_.of(scope).view != nullptr && (has_view_ || !scope.everything());
  };
  effects.has_stream = [this](const Session& session) { return groups_.hasStream(session.cookie); };
  effects.end = [this](const Session& session, const char* reason) {
    const std::string cookie = session.cookie;
    sessions_.close(cookie);
    groups_.endSession(cookie, reason);
  };
  effects.drop_streams = [this](const Session& session) { groups_.dropStreams(session.cookie); };
  effects.namespaces = [this] { return present_.views->namespaces; };
  return effects;
}

ApiService::ApiService(boost::asio::any_io_executor executor, const ApiParts& parts,
                       std::function<void()> session_opened)
    : parts_(parts),
      sessions_(randomBytes),
      guard_(sessions_, {parts.options.port, parts.options.base_path, parts.reviews != nullptr}),
      nothing_(firstView(parts)),
      groups_(
          [this](const std::string& cookie) {
            return sessions_.find(cookie, steadyMs()) != nullptr;
          },
          nothing_),
      login_(parts.reviews == nullptr
                 ? nullptr
                 : std::make_unique<ViewerLogin>(
                       std::move(executor),
                       ViewerLogin::Parts{sessions_, *parts.reviews, parts.options.review_interval},
                       loginEffects())),
      admission_(guard_, sessions_, login_.get(), parts_.naming),
      questions_(parts, admission_, [this](const Session& session) { return viewOf(session); }),
      session_opened_(std::move(session_opened)) {}

void ApiService::tellScopes() {
  std::set<ViewerScope> scopes = sessions_.scopes();
  scopes.erase(wholeScope());
  for (const ViewerScope& scope : scopes) groups_.of(scope);
  parts_.scopes.set(std::move(scopes));
}

std::shared_ptr<const ConsoleView> ApiService::viewOf(const Session& session) {
  const ViewerGroup& group = groups_.of(session.scope);
  return group.view == nullptr ? nothing_ : group.view;
}

void ApiService::publish(std::shared_ptr<const ViewSet> views) {
  present_.views = std::move(views);
  present_.orders.clear();
  // Of agents, those that do not answer are shown, too.
  has_view_ = parts_.cluster == nullptr || present_.views->whole->data_ms != 0;
  groups_.publish(*present_.views);
  if (login_ != nullptr) login_->published();
}

void ApiService::beat() {
  sessions_.removeEnded(steadyMs());
  groups_.beat();
  groups_.keepOnly(sessions_.scopes());
  if (login_ != nullptr) tellScopes();
}

void ApiService::addRead(std::vector<http::Route>& out, const std::string& path, Handler handler) {
  out.push_back({"GET", parts_.options.base_path + "api/v1/" + path, 0,
                 [this, handler](http::Query query) -> Awaited {
                   Admission::Admitted found = co_await admission_.read(query);
                   if (auto* refused = std::get_if<http::Answer>(&found))
                     co_return std::move(*refused);
                   co_return (this->*handler)(query, *std::get<SessionStore::Held>(found));
                 }});
}

ApiService::Awaited ApiService::report(http::Query query, HistoryAnswer answer) {
  Admission::Admitted found = co_await admission_.read(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  const SessionStore::Held session = std::get<SessionStore::Held>(found);
  if (session->reports >= kMaxReports)
    co_return errorAnswer(503, "busy", "other reports are made for this session; ask again");
  const HistoryPart part{parts_.history, parts_.options.prices, placeName(),
                         session->scope, viewOf(*session),      parts_.cluster != nullptr};
  const std::function<std::optional<http::Answer>()> call = [&part, &query, answer] {
    return std::optional(answer(part, query));
  };
  ++session->reports;
  std::optional<http::Answer> made = co_await onPool(parts_.reports, call);
  --session->reports;
  co_return std::move(*made);
}

void ApiService::addList(std::vector<http::Route>& out, const List& list) {
  const std::string path = parts_.options.base_path + "api/v1/" + std::string(list.kind.name);
  const auto guarded = [this, list](auto answer) {
    return [this, list, answer](http::Query query) -> Awaited {
      Admission::Admitted found = co_await admission_.read(query);
      if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
      co_return (this->*answer)(query, *std::get<SessionStore::Held>(found), list);
    };
  };
  out.push_back({"GET", path, 0, guarded(&ApiService::listAnswer)});
  out.push_back({"GET", path + "/{id...}", 0, guarded(&ApiService::itemAnswer)});
}

void ApiService::addRoutes(std::vector<http::Route>& out) {
  const std::string api = parts_.options.base_path + "api/v1/";
  out.push_back({"POST", api + "session", kMaxBody,
                 [this](http::Query query) { return openSession(std::move(query)); }});
  out.push_back({"DELETE", api + "session", 0,
                 [this](http::Query query) { return closeSession(std::move(query)); }});
  out.push_back({"GET", api + "login", 0,
                 [this](http::Query query) -> Awaited { co_return loginAnswer(query); }});
  addRead(out, "session", &ApiService::sessionAnswer);
  addRead(out, "overview", &ApiService::overviewAnswer);
  const std::pair<const char*, HistoryAnswer> reports[] = {
      {"series", &seriesAnswer},
      {"usage", &usageAnswer},
      {"usage.csv", &usageCsv},
      {"usage.focus.csv", &usageFocusCsv},
      {"rightsize", &rightSizeAnswer},
      {"rightsize.csv", &rightSizeCsv},
      {"size", [](const HistoryPart&, const http::Query& query) { return sizeAnswer(query); }},
      {"size/names", [](const HistoryPart&, const http::Query&) { return sizeNames(); }}};
  for (const auto& [path, answer] : reports)
    out.push_back({"GET", api + path, 0, [this, answer = answer](http::Query query) {
                     return report(std::move(query), answer);
                   }});
  addRead(out, "stream", &ApiService::streamAnswer);
  addRead(out, "about", &ApiService::aboutAnswer);
  for (const List& list : parts_.cluster != nullptr ? clusterLists() : machineLists())
    addList(out, list);
  questions_.addRoutes(out);
}

http::Answer ApiService::listAnswer(const http::Query& query, const Session& session,
                                    const List& list) {
  const std::shared_ptr<const ConsoleView> held = viewOf(session);
  const ConsoleView& view = *held;
  const Result<ListQuery> asked = readListQuery(list.kind, wordsOf(query));
  if (!asked) return errorAnswer(asked.error());
  const Result<ListPage> page =
      selectPage(present_.orders.of(held, list.rows, asked->order), list.kind, *asked);
  if (!page) return errorAnswer(page.error());
  bj::object rest{{"total", page->total},
                  {"next", page->next.empty() ? bj::value(nullptr) : bj::value(page->next)}};
  addState(rest, view);
  return jsonAnswer("\"items\":" + page->items, rest);
}

http::Answer ApiService::itemAnswer(const http::Query& query, const Session& session,
                                    const List& list) {
  const std::shared_ptr<const ConsoleView> held = viewOf(session);
  const ConsoleView& view = *held;
  const auto& rows = view.*list.rows;
  const auto at = rows.find(query.capture("id"));
  if (at == rows.end())
    return errorAnswer(404, "not-found",
                       "there is no such entry now; it has ended, or its node does not answer");
  bj::object rest;
  addState(rest, view);
  return jsonAnswer("\"item\":" + at->second->text(), rest);
}

http::Answer ApiService::loginAnswer(const http::Query& query) const {
  if (std::optional<http::Answer> refused = guard_.refuse(query, false)) return std::move(*refused);
  if (login_ == nullptr) return jsonAnswer({{"login", "link"}});
  if (!parts_.naming.empty())
    return jsonAnswer({{"login", "headers"}, {"cluster", parts_.options.place}});
  return jsonAnswer({{"login", "token"},
                     {"cluster", parts_.options.place},
                     {"command", "kubectl create token NAME --audience divvy-console"}});
}

ApiService::Awaited ApiService::openSession(http::Query query) {
  if (std::optional<http::Answer> refused = guard_.refuse(query, true))
    co_return std::move(*refused);
  if (!parts_.naming.empty())
    co_return errorAnswer(403, "forbidden",
                          "no token opens a session here; the proxy in front of this console signs "
                          "viewers in");
  const Result<std::string> token = readToken(query.body);
  if (!token) co_return errorAnswer(token.error());
  SessionStore::Held session;
  if (login_ != nullptr) {
    if (guard_.losesCookie(query))
      co_return errorAnswer(403, "forbidden",
                            "this address needs HTTPS: a browser keeps no session without it");
    ViewerLogin::Opened opened = co_await login_->open(*token, query.client);
    if (auto* refused = std::get_if<http::Answer>(&opened)) co_return std::move(*refused);
    session = std::get<SessionStore::Held>(opened);
  } else {
    session = sessions_.open(*token, parts_.options.user, steadyMs());
    if (session == nullptr)
      co_return errorAnswer(401, "unauthenticated",
                            "this link was used or is not valid; open the link that divvy console "
                            "printed last");
    session_opened_();
  }
  http::Answer answer = sessionAnswer(query, *session);
  answer.fields.set("Set-Cookie", guard_.setCookie(query, session->cookie));
  co_return answer;
}

ApiService::Awaited ApiService::closeSession(http::Query query) {
  Admission::Admitted found = co_await admission_.change(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  const std::string cookie = std::get<SessionStore::Held>(found)->cookie;
  sessions_.close(cookie);
  groups_.endSession(cookie, "the viewer has signed out");
  http::Answer answer;
  answer.status = 204;
  if (parts_.naming.empty()) answer.fields.set("Set-Cookie", guard_.setCookie(query, ""));
  co_return answer;
}

http::Answer ApiService::sessionAnswer(const http::Query&, const Session& session) {
  const ConsoleOptions& options = parts_.options;
  return jsonAnswer({
      {"user", session.user},
      {"mode", parts_.cluster != nullptr ? "cluster" : "local"},
      {"way_in", session.way_in},
      {"csrf", session.csrf},
      {"version", options.version},
      {"node", placeName()},
      {"can", bj::object{{"change", options.allow_changes && hasOwnRights(session)},
                         {"plan", hasOwnRights(session)}}},
      {"scope", scopeObject(session.scope)},
      {"changes", changesOf(parts_, session)},
      {"history", historyState(parts_.history, options.history_file.empty())},
      {"poll_ms", options.interval.count()},
      {"base_path", options.base_path},
  });
}

std::string ApiService::placeName() const {
  if (!parts_.options.place.empty()) return parts_.options.place;
  return present_.views->whole == nullptr || present_.views->whole->sources.empty()
             ? std::string()
             : present_.views->whole->sources.front().node;
}

http::Answer ApiService::overviewAnswer(const http::Query&, const Session& session) {
  const std::shared_ptr<const ConsoleView> held = viewOf(session);
  const ConsoleView& view = *held;
  bj::object rest;
  addState(rest, view);
  const std::string_view text = view.overview->text();
  return jsonAnswer(text.substr(1, text.size() - 2), rest);
}

http::Answer ApiService::streamAnswer(const http::Query& query, const Session& session) {
  Result<std::vector<std::string>> chosen = topicsOf(query);
  if (!chosen) return errorAnswer(chosen.error());
  std::string_view last = query.header("Last-Event-ID");
  const std::string* since = query.parameter("since");
  if (last.empty() && since != nullptr) last = *since;
  http::Answer answer;
  answer.type = "text/event-stream";
  answer.fields.set("Cache-Control", "no-store");
  answer.fields.set("X-Accel-Buffering", "no");
  answer.stream = groups_.of(session.scope).hub->add(session.cookie, std::move(*chosen), last);
  return answer;
}

ConsoleHealth ApiService::health() const {
  ConsoleHealth health;
  health.ready = has_view_;
  health.sessions = sessions_.size();
  health.streams = groups_.streams();
  health.history = parts_.history.status();
  if (loop_late_ms_ >= 0) health.loop_late_s = loop_late_ms_ / kMsPerSecond;
  const ConsoleView* view = present_.views->whole.get();
  if (view == nullptr) return health;
  health.sources = view->sources.size();
  health.failing_sources = static_cast<std::size_t>(
      std::count_if(view->sources.begin(), view->sources.end(),
                    [](const SourceState& one) { return !one.failure.empty(); }));
  if (view->data_ms != 0)
    health.data_age_s = static_cast<double>(nowMs() - view->data_ms) / kMsPerSecond;
  return health;
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
           {"streams", groups_.streams()},
           {"sessions", sessions_.size()},
           {"history", historyState(parts_.history, options.history_file.empty())}}},
  });
}

}  // namespace divvy::console
