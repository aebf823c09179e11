// The API under /api/v1: docs/reference/console-api.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "api/admission.h"
#include "api/console_metrics.h"
#include "api/history_reply.h"
#include "api/question_service.h"
#include "api/request_guard.h"
#include "api/viewer_login.h"
#include "http/server.h"
#include "lists/list_kinds.h"
#include "live/viewer_groups.h"
#include "view/view_set.h"

namespace divvy::console {

// Answers requests from the view of their session. Used on the server's thread only.
class ApiService {
 public:
  // `session_opened` is called after the link was used.
  ApiService(boost::asio::any_io_executor executor, const ApiParts& parts,
             std::function<void()> session_opened);

  // Adds the routes below base_path.
  void addRoutes(std::vector<http::Route>& out);

  // Sets the port that requests have to name.
  void setPort(std::uint16_t port) { guard_.setPort(port); }
  // Makes these the present views, and sends the differences to the streams.
  void publish(std::shared_ptr<const ViewSet> views);
  // To be called every 15 s.
  void beat();
  void setLateness(double ms) { loop_late_ms_ = ms; }
  // Returns the console's own figures.
  ConsoleHealth health() const;

  const RequestGuard& guard() const { return guard_; }
  const std::string& linkToken() const { return sessions_.linkToken(); }

 private:
  using Awaited = boost::asio::awaitable<http::Answer>;
  using Handler = http::Answer (ApiService::*)(const http::Query&, const Session&);

  // The name of what is shown: a node, or a cluster.
  std::string placeName() const;
  // The view of a session; before its first one, that of nothing.
  std::shared_ptr<const ConsoleView> viewOf(const Session& session);
  ViewerLogin::Effects loginEffects();
  void tellScopes();

  void addRead(std::vector<http::Route>& out, const std::string& path, Handler handler);
  // Answers from the history, on a thread for reports.
  Awaited report(http::Query query, HistoryAnswer answer);
  void addList(std::vector<http::Route>& out, const List& list);
  http::Answer listAnswer(const http::Query& query, const Session& session, const List& list);
  http::Answer itemAnswer(const http::Query& query, const Session& session, const List& list);

  Awaited openSession(http::Query query);
  Awaited closeSession(http::Query query);
  http::Answer loginAnswer(const http::Query& query) const;
  http::Answer sessionAnswer(const http::Query& query, const Session& session);
  http::Answer overviewAnswer(const http::Query& query, const Session& session);
  http::Answer streamAnswer(const http::Query& query, const Session& session);
  http::Answer aboutAnswer(const http::Query& query, const Session& session);

  ApiParts parts_;
  SessionStore sessions_;
  RequestGuard guard_;
  const std::shared_ptr<const ConsoleView> nothing_;
  ViewerGroups groups_;
  // What viewers are answered from.
  struct Present {
    std::shared_ptr<const ViewSet> views = std::make_shared<const ViewSet>();
    OrderCache orders;
  };
  Present present_;
  std::unique_ptr<ViewerLogin> login_;  // null: sessions are opened by a link
  Admission admission_;
  QuestionService questions_;
  std::function<void()> session_opened_;
  bool has_view_ = false;
  double loop_late_ms_ = -1;  // until it is measured
};

}  // namespace divvy::console
