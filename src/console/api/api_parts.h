// The parts of a console that its API uses.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "console/cluster_source.h"
#include "console/console.h"
#include "console/node_source.h"
#include "console/viewer.h"
#include "history/store.h"
#include "http/trusted_proxies.h"
#include "viewers/scope_list.h"

namespace divvy::console {

// All outlive the API.
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
  boost::asio::thread_pool& changes;   // for changes of a cluster, which wait longer
  boost::asio::thread_pool& reports;   // for those that read the history
  // Proxies that name the viewers in header fields; empty: viewers sign in themselves.
  const http::TrustedProxies& naming;
};

}  // namespace divvy::console
