#include "cluster_console/viewer_reviews.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <boost/json.hpp>

#include "base/http_status.h"
#include "json/path.h"
#include "kubernetes/kube_api.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kAudience = "divvy-console";
// Reviews of one scope at the same time, and in a second. An API server answers them from memory.
constexpr unsigned kLanes = 8;
constexpr double kPerSecond = 200;

// A kind of review.
struct Kind {
  const char* name;
  const char* api_version;
  const char* path;
  const char* refused;  // for 401
  const char* right;    // for 403
};

constexpr Kind kTokenReview{
    "TokenReview", "authentication.k8s.io/v1", "/apis/authentication.k8s.io/v1/tokenreviews",
    "it does not accept the console's credentials; renew them",
    "the console's account needs the verb create on tokenreviews.authentication.k8s.io"};
constexpr Kind kSubjectReview{
    "SubjectAccessReview", "authorization.k8s.io/v1",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "it does not accept the console's credentials; renew them",
    "the console's account needs the verb create on subjectaccessreviews.authorization.k8s.io"};
constexpr Kind kSelfReview{
    "SelfSubjectAccessReview", "authorization.k8s.io/v1",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "it does not accept the viewer's token any more; sign in with another one",
    "the viewer needs the verb create on selfsubjectaccessreviews.authorization.k8s.io"};

// A collection that viewers may list or not.
struct Collection {
  const char* group;
  const char* version;
  const char* resource;
};
constexpr Collection kNodes{"", "v1", "nodes"};
constexpr Collection kQueues{"divvy.dev", "v1alpha1", "queues"};
constexpr Collection kPods{"", "v1", "pods"};
constexpr Collection kEvents{"", "v1", "events"};

// May the viewer list it?
struct Question {
  const Collection* collection;
  std::string namespace_name;  // empty: all
};

Error unavailable(const std::string& text) {
  return {ErrorCode::kUnavailable, text};
}

Error notAccepted() {
  return {ErrorCode::kNotFound,
          "the API server does not accept this token; \"kubectl create token NAME --audience "
          "divvy-console\" makes one"};
}

// The text of a refusal is not passed on: it may repeat what was sent.
Error refusal(const Kind& kind, unsigned status) {
  std::string text =
      std::string("the API server answers a ") + kind.name + " with " + std::to_string(status);
  if (status == http_status::kUnauthorized) text += std::string(": ") + kind.refused;
  if (status == http_status::kForbidden) text += std::string(": ") + kind.right;
  return unavailable(text);
}

// Returns the status of a review, which is an object.
Result<json::object> statusOf(const Kind& kind, const kube::Reply& reply) {
  if (!reply.good()) return refusal(kind, reply.status);
  boost::system::error_code fault;
  const json::value body = json::parse(reply.body, fault);
  const json::value* status = fault ? nullptr : memberAt(body, {"status"});
  if (status == nullptr || !status->is_object())
    return unavailable(std::string("the API server's answer to a ") + kind.name + " has no status");
  return status->get_object();
}

// Returns a member that is true, false or absent.
Result<bool> flagAt(const Kind& kind, const json::object& status, const char* name, bool required) {
  const json::value* found = status.if_contains(name);
  if (found == nullptr && !required) return false;
  if (found == nullptr || !found->is_bool())
    return unavailable(std::string("the API server's answer to a ") + kind.name +
                       " has no status." + name);
  return found->get_bool();
}

std::vector<std::string> textsOf(const json::array& list) {
  std::vector<std::string> texts;
  for (const json::value& one : list)
    if (one.is_string()) texts.emplace_back(one.get_string());
  return texts;
}

Result<console::Viewer> viewerOf(const json::object& status) {
  console::Viewer viewer;
  viewer.user = textAt(status, {"user", "username"});
  if (viewer.user.empty())
    return unavailable("the API server's answer to a TokenReview has no name of the user");
  viewer.uid = textAt(status, {"user", "uid"});
  viewer.groups = textsOf(listAt(status, {"user", "groups"}));
  for (const auto& [key, values] : objectAt(status, {"user", "extra"}))
    if (values.is_array()) viewer.extra[key] = textsOf(values.get_array());
  return viewer;
}

kube::Call callOf(const Kind& kind, json::object spec) {
  const json::object body{
      {"apiVersion", kind.api_version}, {"kind", kind.name}, {"spec", std::move(spec)}};
  kube::Call call{kube::Verb::kPost, kind.path, json::serialize(body)};
  call.once = true;
  return call;
}

json::array textList(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

// The viewer as the subject of a review.
json::object subjectOf(const console::Viewer& viewer) {
  json::object subject{{"user", viewer.user}};
  if (!viewer.uid.empty()) subject["uid"] = viewer.uid;
  if (!viewer.groups.empty()) subject["groups"] = textList(viewer.groups);
  json::object extra;
  for (const auto& [key, values] : viewer.extra) extra[key] = textList(values);
  if (!extra.empty()) subject["extra"] = std::move(extra);
  return subject;
}

json::object attributesOf(const Question& question) {
  json::object attributes;
  if (!question.namespace_name.empty()) attributes["namespace"] = question.namespace_name;
  attributes["verb"] = "list";
  if (*question.collection->group != '\0') attributes["group"] = question.collection->group;
  attributes["version"] = question.collection->version;
  attributes["resource"] = question.collection->resource;
  return attributes;
}

Result<std::unique_ptr<KubeApi>> openApi(const ConnectionOptions& connection,
                                         milliseconds exchange) {
  Result<kube::Access> access = accessFor(connection);
  if (!access) return unavailable(access.error().message());
  kube::ClientOptions terms;
  terms.per_second = kPerSecond;
  terms.burst = kPerSecond;
  terms.tries = 1;
  terms.bound = std::min(exchange, connection.with({}).bound);
  Result<std::unique_ptr<KubeApi>> api = KubeApi::open(std::move(*access), terms);
  if (!api) return unavailable(api.error().message());
  return api;
}

// Questions about one viewer.
class Reviews {
 public:
  Reviews(KubeApi* api, const console::Viewer& viewer, milliseconds sending)
      : api_(api), viewer_(viewer), sending_(sending), end_(Clock::now() + sending) {}

  // Returns the answers in the order of the questions.
  Result<std::vector<bool>> ask(const std::vector<Question>& questions) {
    std::vector<kube::Call> calls;
    calls.reserve(questions.size());
    for (const Question& question : questions) {
      json::object spec = viewer_.api_token ? json::object{} : subjectOf(viewer_);
      spec["resourceAttributes"] = attributesOf(question);
      calls.push_back(callOf(kind(), std::move(spec)));
      calls.back().still = [this] { return Clock::now() < end_; };
    }
    std::vector<bool> answers(questions.size());
    const Result<void> asked = api_->sendAll(
        std::move(calls), kLanes, [&](std::size_t index, const kube::Reply& reply) -> Result<void> {
          const Result<bool> allowed = allowedOf(reply);
          if (!allowed) return allowed.error();
          answers[index] = *allowed;
          return {};
        });
    if (asked) return answers;
    if (Clock::now() >= end_)
      return unavailable("the API server has not answered all reviews of the viewer's rights in " +
                         std::to_string(sending_.count()) + " ms; try again");
    return unavailable(asked.error().message());
  }

 private:
  const Kind& kind() const { return viewer_.api_token ? kSelfReview : kSubjectReview; }

  Result<bool> allowedOf(const kube::Reply& reply) const {
    const Result<json::object> status = statusOf(kind(), reply);
    if (!status) return status.error();
    const Result<bool> allowed = flagAt(kind(), *status, "allowed", true);
    // With an error an authorizer did not decide: the API server would not serve the request.
    if (allowed && !*allowed && !textAt(*status, {"evaluationError"}).empty())
      return unavailable(std::string("the API server cannot evaluate a ") + kind().name +
                         "; its log has the reason");
    return allowed;
  }

  KubeApi* api_;
  const console::Viewer& viewer_;
  const milliseconds sending_;
  const Clock::time_point end_;
};

}  // namespace

ClusterViewerReviews::ClusterViewerReviews(ConnectionOptions connection)
    : ClusterViewerReviews(std::move(connection), Bounds{}) {}

ClusterViewerReviews::ClusterViewerReviews(ConnectionOptions connection, Bounds bounds)
    : connection_(std::move(connection)), bounds_(bounds) {}

Result<console::Viewer> ClusterViewerReviews::authenticate(const std::string& token) {
  if (!isBearerToken(token)) return notAccepted();
  const Result<std::unique_ptr<KubeApi>> api = openApi(connection_, bounds_.exchange);
  if (!api) return api.error();
  for (const bool narrow : {true, false}) {
    json::object spec{{"token", token}};
    if (narrow) spec["audiences"] = json::array{kAudience};
    std::optional<Result<json::object>> status;
    const Result<void> asked =
        (*api)->sendAll({callOf(kTokenReview, std::move(spec))}, 1,
                        [&](std::size_t, const kube::Reply& reply) -> Result<void> {
                          status = statusOf(kTokenReview, reply);
                          return {};
                        });
    if (!asked) return unavailable(asked.error().message());
    if (!*status) return status->error();
    const Result<bool> accepted = flagAt(kTokenReview, **status, "authenticated", false);
    if (!accepted) return accepted.error();
    if (!*accepted) continue;
    const std::vector<std::string> audiences = textsOf(listAt(**status, {"audiences"}));
    // An authenticator that knows no audiences accepts a token that is for none.
    if (narrow && std::find(audiences.begin(), audiences.end(), kAudience) == audiences.end())
      continue;
    Result<console::Viewer> viewer = viewerOf(**status);
    if (!viewer) return viewer;
    viewer->token = token;
    viewer->api_token = !narrow;
    return viewer;
  }
  return notAccepted();
}

Result<console::ViewerScope> ClusterViewerReviews::scopeOf(
    const console::Viewer& viewer, const std::vector<std::string>& namespaces) {
  // Without its token, the console's own rights would be reviewed.
  if (viewer.api_token && !isBearerToken(viewer.token))
    return unavailable("the viewer's token is no token; sign in again");
  ConnectionOptions connection = connection_;
  if (viewer.api_token) connection.viewer_token = viewer.token;
  const Result<std::unique_ptr<KubeApi>> api = openApi(connection, bounds_.exchange);
  if (!api) return api.error();
  Reviews reviews(api->get(), viewer, bounds_.sending);
  const Result<std::vector<bool>> wide =
      reviews.ask({{&kNodes, ""}, {&kQueues, ""}, {&kPods, ""}, {&kEvents, ""}});
  if (!wide) return wide.error();
  console::ViewerScope scope;
  scope.nodes = (*wide)[0];
  scope.queues = (*wide)[1];
  scope.pods.all = (*wide)[2];
  scope.events.all = (*wide)[3];
  std::vector<Question> questions;
  for (const std::string& name : std::set<std::string>(namespaces.begin(), namespaces.end())) {
    if (!isObjectName(name)) continue;
    if (!scope.pods.all) questions.push_back({&kPods, name});
    if (!scope.events.all) questions.push_back({&kEvents, name});
  }
  const Result<std::vector<bool>> narrow = reviews.ask(questions);
  if (!narrow) return narrow.error();
  for (std::size_t at = 0; at < questions.size(); ++at) {
    const Question& question = questions[at];
    if (!(*narrow)[at]) continue;
    (question.collection == &kPods ? scope.pods : scope.events)
        .names.insert(question.namespace_name);
  }
  return scope;
}

}  // namespace divvy::cli
