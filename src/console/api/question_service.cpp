#include "api/question_service.h"

#include <functional>
#include <optional>
#include <utility>

#include <boost/json.hpp>

#include "api/call_counter.h"
#include "api/pool_call.h"
#include "api/reply.h"
#include "bodies/body_reader.h"
#include "viewers/viewer_filter.h"

namespace divvy::console {
namespace {

namespace asio = boost::asio;
namespace bj = boost::json;

constexpr std::uint64_t kMaxBody = std::uint64_t{64} << 10;
constexpr const char* kOtherQuestions = "the console answers other questions; ask again";
constexpr std::uint64_t kMaxManifest = std::uint64_t{1} << 20;

// An API server refuses with this text (kube::errorOf()).
http::Answer clusterError(const Error& error) {
  if (error.message().find("403 Forbidden") != std::string::npos)
    return errorAnswer(403, "forbidden", error.message());
  return errorAnswer(error);
}

}  // namespace

void QuestionService::addRoutes(std::vector<http::Route>& out) {
  const std::string api = parts_.options.base_path + "api/v1/";
  if (parts_.cluster == nullptr) {
    out.push_back({"POST", api + "explain", kMaxBody,
                   [this](http::Query query) { return explain(std::move(query)); }});
    out.push_back({"POST", api + "changes", kMaxBody,
                   [this](http::Query query) { return change(std::move(query)); }});
    return;
  }
  out.push_back({"GET", api + "waiting/{namespace}/{pod}/explain", 0,
                 [this](http::Query query) { return explainPod(std::move(query)); }});
  out.push_back({"POST", api + "plan", kMaxManifest,
                 [this](http::Query query) { return plan(std::move(query)); }});
  cluster_changes_.addRoutes(out);
}

std::shared_ptr<unsigned> QuestionService::callsOf(const Session& session) {
  // The person with the link has the console alone.
  if (session.viewer.user.empty()) return std::make_shared<unsigned>(0);
  std::erase_if(of_viewers_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<unsigned>& known = of_viewers_[session.viewer.user];
  std::shared_ptr<unsigned> calls = known.lock();
  if (calls == nullptr) {
    calls = std::make_shared<unsigned>(0);
    known = calls;
  }
  return calls;
}

QuestionService::Awaited QuestionService::explain(http::Query query) {
  Admission::Admitted found = co_await admission_.change(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  const Result<Question> question = readQuestion(query.body);
  if (!question) co_return errorAnswer(question.error());
  if (*calls_ >= kMaxCalls)
    co_return errorAnswer(503, "busy", "the agent answers other questions; ask again");
  const CallCounter counted(calls_);
  const std::function<Result<agent::ExplainReply>()> call = [this, &question] {
    return parts_.agents->explain(question->node, question->request);
  };
  const Result<agent::ExplainReply> reply = co_await onPool(parts_.blocking, call);
  co_return reply ? jsonAnswer(explanationOf(*reply)) : errorAnswer(reply.error());
}

QuestionService::Awaited QuestionService::change(http::Query query) {
  Admission::Admitted found = co_await admission_.change(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  if (!parts_.options.allow_changes)
    co_return errorAnswer(403, "forbidden",
                          "changes are off; start the console with --allow-changes");
  Result<ShareChange> change = readChange(query.body);
  if (!change) co_return errorAnswer(change.error());
  const std::shared_ptr<const ConsoleView> view = view_of_(*std::get<SessionStore::Held>(found));
  const auto share = view->shares.find(change->share);
  if (share == view->shares.end())
    co_return errorAnswer(404, "not-found", "the share has ended; nothing was changed");
  const Result<std::vector<std::string>> effects = effectsOf(*change, share->second->members());
  if (!effects) co_return errorAnswer(effects.error());
  bj::object object{{"dry_run", change->dry_run}, {"effects", bj::value_from(*effects)}};
  object["refused"] = nullptr;
  if (change->dry_run) co_return jsonAnswer(std::move(object));
  if (*calls_ >= kMaxCalls)
    co_return errorAnswer(503, "busy", "the agent makes other changes; try again");
  change->request.tenant = std::string(share->second->at("tenant").get_string());
  const std::string node(share->second->at("node").get_string());
  const CallCounter counted(calls_);
  const std::function<Result<void>()> call = [this, node, &change] {
    return parts_.agents->change(node, change->request);
  };
  const Result<void> done = co_await onPool(parts_.blocking, call);
  if (!done)
    object["refused"] = bj::object{{"code", "conflict"}, {"message", done.error().message()}};
  co_return jsonAnswer(std::move(object));
}

QuestionService::Awaited QuestionService::explainPod(http::Query query) {
  Admission::Admitted found = co_await admission_.read(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  const SessionStore::Held session = std::get<SessionStore::Held>(found);
  const ViewerScope scope = session->scope;
  if (!scope.pods.contains(std::string(query.capture("namespace"))))
    co_return errorAnswer(404, "not-found", "there is no such pod among those that you may list");
  const std::shared_ptr<unsigned> own = callsOf(*session);
  if (*calls_ >= kMaxCalls || *own >= kMaxOfViewer)
    co_return errorAnswer(503, "busy", kOtherQuestions);
  const CallCounter counted(calls_), counted_own(own);
  const std::function<Result<bj::object>()> call = [this, &query] {
    return parts_.cluster->explain(std::string(query.capture("namespace")),
                                   std::string(query.capture("pod")));
  };
  Result<bj::object> explanation = co_await onPool(parts_.blocking, call);
  if (!explanation) co_return clusterError(explanation.error());
  co_return jsonAnswer({{"explanation", visibleExplanation(std::move(*explanation), scope)}});
}

QuestionService::Awaited QuestionService::plan(http::Query query) {
  Admission::Admitted found = co_await admission_.change(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  const SessionStore::Held session = std::get<SessionStore::Held>(found);
  if (session->isNamed())
    co_return errorAnswer(403, "forbidden",
                          "a plan reads the cluster with your own rights, and the proxy passes on "
                          "no token of yours; run divvy plan");
  if (!hasOwnRights(*session))
    co_return errorAnswer(
        403, "forbidden",
        std::string("a plan reads the cluster with your own rights: ") + kSignInWithOwnRights);
  const Result<ManifestQuestion> question = readManifestQuestion(query.body);
  if (!question) co_return errorAnswer(question.error());
  const std::shared_ptr<unsigned> own = callsOf(*session);
  if (*calls_ >= kMaxCalls || *own >= kMaxOfViewer)
    co_return errorAnswer(503, "busy", kOtherQuestions);
  const CallCounter counted(calls_), counted_own(own);
  const std::function<Result<bj::array>()> call = [this, &question, &session] {
    return parts_.cluster->plan(question->manifest, question->namespace_name,
                                session->viewer.token);
  };
  Result<bj::array> planned = co_await onPool(parts_.blocking, call);
  co_return planned ? jsonAnswer({{"plan", std::move(*planned)}}) : clusterError(planned.error());
}

}  // namespace divvy::console
