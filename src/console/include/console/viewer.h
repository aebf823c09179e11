// Viewers of a cluster's console and their rights. The console owns no connection: its starter
// implements the reviews.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::console {

// A person or program as the API server names it (TokenReview, status.user), or as a reverse proxy
// does in header fields: user and groups alone.
struct Viewer {
  std::string user, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  std::string token;  // the one that it came with; a secret. Empty: a proxy names it
  // The API server itself accepts `token`. If not, it is for consoles only (audience
  // "divvy-console"): it cannot be used for changes and plans.
  bool api_token = false;
};

// The namespaces in which a viewer may list a collection.
struct NamespaceScope {
  bool all = false;
  std::set<std::string> names;  // if not all

  bool contains(const std::string& name) const { return all || names.contains(name); }
  friend auto operator<=>(const NamespaceScope&, const NamespaceScope&) = default;
};

// The collections that a viewer may list. Viewers with equal scopes see the same.
struct ViewerScope {
  bool nodes = false;
  bool queues = false;  // queues.divvy.dev
  NamespaceScope pods, events;

  bool everything() const { return nodes && queues && pods.all && events.all; }
  friend auto operator<=>(const ViewerScope&, const ViewerScope&) = default;
};

// A scope that hides nothing, as of the person at the terminal of the console.
ViewerScope wholeScope();

// Blocking questions to the API server. Called by several threads at the same time. Each call
// returns within 20 s.
class ViewerReviews {
 public:
  virtual ~ViewerReviews() = default;

  // Reviews a token, for consoles first, then for the API server (TokenReview v1). kNotFound: the
  // API server does not accept it. kUnavailable: it does not answer, or refuses the review.
  virtual Result<Viewer> authenticate(const std::string& token) = 0;

  // Returns the collections that the viewer may list: cluster-wide, or else in each of `namespaces`
  // (SelfSubjectAccessReview with an `api_token`, else SubjectAccessReview, v1). A review that
  // fails is an error, never a smaller or larger scope. kUnavailable.
  virtual Result<ViewerScope> scopeOf(const Viewer& viewer,
                                      const std::vector<std::string>& namespaces) = 0;
};

}  // namespace divvy::console
