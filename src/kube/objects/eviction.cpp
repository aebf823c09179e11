#include "kube/eviction.h"

#include <utility>

#include "base/http_status.h"
#include "objects/members.h"

namespace divvy::kube {
namespace {

namespace asio = boost::asio;

// A server that is overloaded also answers 429.
bool byBudget(const json::value& said) {
  bool found = false;
  Members(said, "").in("details", [&](Members& details) {
    details.each("causes", [&](Members& cause) {
      std::string reason;
      cause.text("reason", &reason);
      found = found || reason == "DisruptionBudget";
    });
  });
  return found;
}

}  // namespace

Result<Eviction> evictionOf(const Reply& reply) {
  if (reply.good()) return Eviction{EvictionOutcome::kEvicted, ""};
  const Error fault = errorOf(reply);
  boost::system::error_code broken;
  const json::value said = json::parse(reply.body, broken);
  const bool readable = !broken && said.is_object();
  if (reply.status == http_status::kNotFound)
    return Eviction{EvictionOutcome::kGone, fault.message()};
  // The UID is the only precondition that this request has.
  if (reply.status == http_status::kConflict) {
    const bool other = fault.message().find("UID in precondition") != std::string::npos;
    return Eviction{other ? EvictionOutcome::kGone : EvictionOutcome::kRefused, fault.message()};
  }
  if (reply.status == http_status::kTooManyRequests && readable && byBudget(said))
    return Eviction{EvictionOutcome::kForbidden, fault.message()};
  if (fault.code() == ErrorCode::kUnavailable) return fault;
  return Eviction{EvictionOutcome::kRefused, fault.message()};
}

asio::awaitable<Result<Eviction>> evict(Client& client, EvictionOptions ask) {
  Call call{Verb::kPost,
            "/api/v1/namespaces/" + ask.namespace_name + "/pods/" + ask.name + "/eviction"};
  if (ask.dry_run) call.path += "?dryRun=All";
  call.body = json::serialize(json::object{
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata", json::object{{"name", ask.name}, {"namespace", ask.namespace_name}}},
      {"deleteOptions", json::object{{"preconditions", json::object{{"uid", ask.uid}}}}}});
  call.still = std::move(ask.still);
  call.once = true;
  const std::string what = "evicting " + ask.namespace_name + '/' + ask.name;
  Result<Reply> reply = co_await client.send(std::move(call));
  if (!reply) co_return std::move(reply).error().context(what);
  Result<Eviction> read = evictionOf(*reply);
  if (!read) co_return std::move(read).error().context(what);
  co_return read;
}

}  // namespace divvy::kube
