// The API under /api/v1: docs/reference/console-api.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "api/request_guard.h"
#include "console/console.h"
#include "history/store.h"
#include "http/server.h"
#include "lists/list_query.h"
#include "live/stream_hub.h"
#include "view/node_view.h"

namespace divvy::console {

// What the API works on. All outlive it.
struct ApiParts {
  const ConsoleOptions& options;
  SessionStore& sessions;
  RequestGuard& guard;
  StreamHub& hub;
  history::Store& history;
  NodeSource& source;
  boost::asio::thread_pool& blocking;  // for calls that wait
};

// Answers requests from the present view. Used on the server's thread only.
class ApiService {
 public:
  // Questions and changes that wait for an agent at the same time; a further one gets 503.
  static constexpr unsigned kMaxCalls = 16;

  ApiService(const ApiParts& parts, Console::ShowLink session_opened);

  // The routes below base_path, which must have been added to `out` before it is served.
  void addRoutes(std::vector<http::Route>& out);

  void setView(std::shared_ptr<const NodeView> view) { view_ = std::move(view); }
  void setLateness(double ms) { loop_late_ms_ = ms; }

 private:
  using Awaited = boost::asio::awaitable<http::Answer>;
  using Rows = std::map<std::string, Row, std::less<>>;
  using Handler = http::Answer (ApiService::*)(const http::Query&, const Session&);
  struct List {
    ListKind kind;
    Rows NodeView::* rows;
  };

  void addRead(std::vector<http::Route>& out, const std::string& path, Handler handler);
  void addList(std::vector<http::Route>& out, const List& list);
  http::Answer listAnswer(const http::Query& query, const List& list) const;
  http::Answer itemAnswer(const http::Query& query, const List& list) const;

  http::Answer openSession(const http::Query& query);
  http::Answer closeSession(const http::Query& query);
  http::Answer sessionAnswer(const http::Query& query, const Session& session);
  http::Answer overviewAnswer(const http::Query& query, const Session& session);
  http::Answer seriesAnswer(const http::Query& query, const Session& session);
  http::Answer usageAnswer(const http::Query& query, const Session& session);
  http::Answer usageCsv(const http::Query& query, const Session& session);
  http::Answer streamAnswer(const http::Query& query, const Session& session);
  http::Answer aboutAnswer(const http::Query& query, const Session& session);
  Awaited explain(http::Query query);
  Awaited change(http::Query query);

  ApiParts parts_;
  Console::ShowLink session_opened_;
  std::shared_ptr<const NodeView> view_;
  double loop_late_ms_ = -1;  // until it is measured
  std::shared_ptr<unsigned> calls_ = std::make_shared<unsigned>(0);  // in progress
};

}  // namespace divvy::console
