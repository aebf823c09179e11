// Changes of a cluster, with the rights of the viewer that requests them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/admission.h"
#include "api/api_parts.h"
#include "http/server.h"
#include "view/console_view.h"

namespace divvy::console {

// Returns whether the API server accepts this session's rights: a plan and a change need them.
bool hasOwnRights(const Session& session);

// The action of a viewer that hasOwnRights() refuses, for messages.
inline constexpr const char* kSignInWithOwnRights =
    "sign in with a token that the API server accepts (kubectl create token NAME)";

// Used on the server's thread only.
class ClusterChangeService {
 public:
  // In progress at the same time; a further one gets 503.
  static constexpr unsigned kMaxChanges = 8;
  static constexpr unsigned kMaxOfSession = 2;

  // Returns the present view of a session.
  using ViewOf = std::function<std::shared_ptr<const ConsoleView>(const Session&)>;

  // `admission` outlives it.
  ClusterChangeService(const ApiParts& parts, const Admission& admission, ViewOf view_of)
      : parts_(parts), admission_(admission), view_of_(std::move(view_of)) {}

  void addRoutes(std::vector<http::Route>& out);

 private:
  using Awaited = boost::asio::awaitable<http::Answer>;

  Awaited change(http::Query query);

  ApiParts parts_;
  const Admission& admission_;
  ViewOf view_of_;
  std::shared_ptr<unsigned> changes_ = std::make_shared<unsigned>(0);  // in progress
};

}  // namespace divvy::console
