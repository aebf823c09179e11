// The API under /api/v1: docs/reference/console-api.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/question_service.h"
#include "api/request_guard.h"
#include "console/cluster_source.h"
#include "console/console.h"
#include "console/node_source.h"
#include "history/store.h"
#include "http/server.h"
#include "lists/list_kinds.h"
#include "live/stream_hub.h"
#include "view/console_view.h"

namespace divvy::console {

// Answers requests from the present view. Used on the server's thread only.
class ApiService {
 public:
  // `session_opened` is called after the link was used.
  ApiService(const ApiParts& parts, std::function<void()> session_opened);

  // Adds the routes below base_path.
  void addRoutes(std::vector<http::Route>& out);

  // Sets the port that requests have to name.
  void setPort(std::uint16_t port) { guard_.setPort(port); }
  // Makes `now` the present view, and sends the difference to the streams.
  void publish(const ConsoleView& before, std::shared_ptr<const ConsoleView> now);
  // To be called every 15 s.
  void beat() { hub_.beat(); }
  void setLateness(double ms) { loop_late_ms_ = ms; }

  const RequestGuard& guard() const { return guard_; }
  const std::string& linkToken() const { return sessions_.linkToken(); }
  // Returns whether agents were read, or nodes and pods of the cluster are known.
  bool hasView() const { return has_view_; }

 private:
  using Awaited = boost::asio::awaitable<http::Answer>;
  using Handler = http::Answer (ApiService::*)(const http::Query&, const Session&);

  // The name of what is shown: a node, or a cluster.
  std::string placeName() const;
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

  ApiParts parts_;
  SessionStore sessions_;
  RequestGuard guard_;
  StreamHub hub_;
  QuestionService questions_;
  std::function<void()> session_opened_;
  std::shared_ptr<const ConsoleView> view_;
  bool has_view_ = false;
  double loop_late_ms_ = -1;  // until it is measured
};

}  // namespace divvy::console
