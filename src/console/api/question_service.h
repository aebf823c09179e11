// The calls of the API that wait for an agent or an API server: questions and changes.
#pragma once

#include <memory>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "api/admission.h"
#include "console/cluster_source.h"
#include "console/console.h"
#include "console/node_source.h"
#include "console/viewer.h"
#include "history/store.h"
#include "http/server.h"
#include "http/trusted_proxies.h"
#include "view/console_view.h"
#include "viewers/scope_list.h"

namespace divvy::console {

// The parts of a console that the API uses. All outlive it.
struct ApiParts {
  const ConsoleOptions& options;
  history::Store& history;
  // One of both: the agents of this machine, or a cluster.
  NodeSource* agents;
  ClusterSource* cluster;
  // Of viewers' tokens; null: a link opens sessions.
  ViewerReviews* reviews;
  ScopeList& scopes;                   // that views are built for
  boost::asio::thread_pool& blocking;  // for calls that wait
  boost::asio::thread_pool& reports;   // for those that read the history
  // Proxies that name the viewers in header fields; empty: viewers sign in themselves.
  const http::TrustedProxies& naming;
};

// Returns whether plans can be made with the rights of this session.
bool mayPlan(const Session& session);

// Used on the server's thread only.
class QuestionService {
 public:
  // Calls in progress at the same time; a further one gets 503.
  static constexpr unsigned kMaxCalls = 16;

  // `admission` outlives it.
  QuestionService(const ApiParts& parts, const Admission& admission)
      : parts_(parts), admission_(admission) {}

  // Adds the routes of a machine, or of a cluster.
  void addRoutes(std::vector<http::Route>& out);
  // Sets the view that changes refer to.
  void setView(std::shared_ptr<const ConsoleView> view) { view_ = std::move(view); }

 private:
  using Awaited = boost::asio::awaitable<http::Answer>;

  Awaited explain(http::Query query);
  Awaited change(http::Query query);
  Awaited explainPod(http::Query query);
  Awaited plan(http::Query query);

  ApiParts parts_;
  const Admission& admission_;
  std::shared_ptr<const ConsoleView> view_ = std::make_shared<const ConsoleView>();
  std::shared_ptr<unsigned> calls_ = std::make_shared<unsigned>(0);  // in progress
};

}  // namespace divvy::console
