// The API under /api/v1: docs/reference/console-api.md.
#pragma once

#include <functional>
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

// The parts of a console that the API uses. All outlive it.
struct ApiParts {
  const ConsoleOptions& options;
  history::Store& history;
  NodeSource& source;
  boost::asio::thread_pool& blocking;  // for calls that wait
};

// Answers requests from the present view. Used on the server's thread only.
class ApiService {
 public:
  // Questions and changes that wait for an agent at the same time; a further one gets 503.
  static constexpr unsigned kMaxCalls = 16;

  // `session_opened` is called after the link was used.
  ApiService(const ApiParts& parts, std::function<void()> session_opened);

  // Adds the routes below base_path.
  void addRoutes(std::vector<http::Route>& out);

  // Sets the port that requests have to name.
  void setPort(std::uint16_t port) { guard_.setPort(port); }
  // Makes `now` the present view, and sends the difference to the streams.
  void publish(const NodeView& before, std::shared_ptr<const NodeView> now);
  // To be called every 15 s.
  void beat() { hub_.beat(); }
  void setLateness(double ms) { loop_late_ms_ = ms; }

  const RequestGuard& guard() const { return guard_; }
  const std::string& linkToken() const { return sessions_.linkToken(); }
  // Returns whether an agent was read.
  bool hasView() const { return has_view_; }

 private:
  using Awaited = boost::asio::awaitable<http::Answer>;
  using Rows = std::map<std::string, Row, std::less<>>;
  using Handler = http::Answer (ApiService::*)(const http::Query&, const Session&);
  struct List {
    ListKind kind;
    Rows NodeView::*rows;
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
  SessionStore sessions_;
  RequestGuard guard_;
  StreamHub hub_;
  std::function<void()> session_opened_;
  std::shared_ptr<const NodeView> view_;
  bool has_view_ = false;
  double loop_late_ms_ = -1;                                         // until it is measured
  std::shared_ptr<unsigned> calls_ = std::make_shared<unsigned>(0);  // in progress
};

}  // namespace divvy::console
