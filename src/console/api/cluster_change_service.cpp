#include "api/cluster_change_service.h"

#include <optional>
#include <utility>

#include <boost/json.hpp>

#include "api/call_counter.h"
#include "api/pool_call.h"
#include "api/reply.h"
#include "bodies/change_target.h"
#include "bodies/cluster_change_reader.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr std::uint64_t kMaxBody = std::uint64_t{64} << 10;

const char* wordOf(ClusterChangeState state) {
  if (state == ClusterChangeState::kPlanned) return "planned";
  return state == ClusterChangeState::kDone ? "done" : "requested";
}

bj::object objectOf(const ClusterChange& change, const ClusterChangeOutcome& outcome) {
  bj::object object{{"dry_run", change.dry_run},
                    {"effects", bj::value_from(outcome.effects)},
                    {"warnings", bj::value_from(outcome.warnings)},
                    {"refused", nullptr},
                    {"state", wordOf(outcome.state)},
                    {"recorded", nullptr}};
  if (outcome.refused)
    object["refused"] =
        bj::object{{"code", outcome.refused->code}, {"message", outcome.refused->message}};
  if (outcome.recorded) object["recorded"] = *outcome.recorded;
  return object;
}

// For the console's own history.
history::Event eventOf(const ClusterChange& change, const Result<ClusterChangeOutcome>& outcome) {
  history::Event event;
  event.time = history::Instant(std::chrono::milliseconds(nowMs()));
  event.kind = "change";
  event.object = nameOf(change.target);
  event.actor = change.user;
  event.text = std::string(wordOf(change.kind)) + ' ' + event.object;
  if (!outcome) {
    event.text += ": " + outcome.error().message();
    return event;
  }
  std::string rest;
  for (const std::string& effect : outcome->effects) rest += (rest.empty() ? ": " : "; ") + effect;
  if (outcome->refused) rest = ": refused: " + outcome->refused->message;
  event.text += rest;
  event.json = bj::serialize(objectOf(change, *outcome));
  return event;
}

}  // namespace

bool hasOwnRights(const Session& session) {
  // Without a token of the viewer, the console's own rights would be used.
  return session.viewer.user.empty() || session.viewer.api_token;
}

void ClusterChangeService::addRoutes(std::vector<http::Route>& out) {
  out.push_back({"POST", parts_.options.base_path + "api/v1/changes", kMaxBody,
                 [this](http::Query query) { return change(std::move(query)); }});
}

ClusterChangeService::Awaited ClusterChangeService::change(http::Query query) {
  Admission::Admitted found = co_await admission_.change(query);
  if (auto* refused = std::get_if<http::Answer>(&found)) co_return std::move(*refused);
  const SessionStore::Held session = std::get<SessionStore::Held>(found);
  if (!parts_.options.allow_changes)
    co_return errorAnswer(403, "forbidden",
                          "changes are off; start the console with --allow-changes");
  if (!hasOwnRights(*session))
    co_return errorAnswer(
        403, "forbidden",
        std::string("a change is made with your own rights: ") + kSignInWithOwnRights);
  Result<ClusterChange> read = readClusterChange(query.body);
  if (!read) co_return errorAnswer(read.error());
  if (!findTarget(*view_of_(*session), &*read))
    co_return errorAnswer(
        404, "not-found",
        "there is no " + nameOf(read->target) + " among what you may see now; nothing was changed");
  if (*changes_ >= kMaxChanges || session->changes >= kMaxOfSession)
    co_return errorAnswer(503, "busy", "other changes are in progress; try again");
  read->user = session->user;
  read->token = session->viewer.token;
  const CallCounter counted(changes_);
  const CallCounter of_session(std::shared_ptr<unsigned>(session, &session->changes));
  // The history is used before the call ends: the console may end before this function.
  const std::function<Result<ClusterChangeOutcome>()> call = [this, &read] {
    Result<ClusterChangeOutcome> made = parts_.cluster->change(*read);
    if (!read->dry_run) parts_.history.append(eventOf(*read, made));
    return made;
  };
  const Result<ClusterChangeOutcome> made = co_await onPool(parts_.changes, call);
  co_return made ? jsonAnswer(objectOf(*read, *made)) : errorAnswer(made.error());
}

}  // namespace divvy::console
