// The calls of the API that wait for an agent or an API server: questions and changes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/admission.h"
#include "api/api_parts.h"
#include "api/cluster_change_service.h"
#include "http/server.h"

namespace divvy::console {

// Used on the server's thread only.
class QuestionService {
 public:
  // Calls in progress at the same time; a further one gets 503.
  static constexpr unsigned kMaxCalls = 16;
  // Of one viewer, with all of its sessions: the others are answered beside it.
  static constexpr unsigned kMaxOfViewer = 4;

  using ViewOf = ClusterChangeService::ViewOf;

  // `admission` outlives it.
  QuestionService(const ApiParts& parts, const Admission& admission, const ViewOf& view_of)
      : parts_(parts),
        admission_(admission),
        view_of_(view_of),
        cluster_changes_(parts, admission, view_of) {}

  // Adds the routes of a machine, or of a cluster.
  void addRoutes(std::vector<http::Route>& out);

 private:
  using Awaited = boost::asio::awaitable<http::Answer>;

  Awaited explain(http::Query query);
  Awaited change(http::Query query);
  Awaited explainPod(http::Query query);
  Awaited plan(http::Query query);
  // The number of questions of the session's viewer that are in progress.
  std::shared_ptr<unsigned> callsOf(const Session& session);

  ApiParts parts_;
  const Admission& admission_;
  ViewOf view_of_;
  ClusterChangeService cluster_changes_;
  std::shared_ptr<unsigned> calls_ = std::make_shared<unsigned>(0);  // in progress
  std::map<std::string, std::weak_ptr<unsigned>> of_viewers_;        // the same, by user
};

}  // namespace divvy::console
