#include "controllers/platform_callback.h"

#include <chrono>
#include <utility>

#include <boost/json.hpp>

#include "base/rfc3339.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr kube::ClientOptions kTerms{50, 100, std::chrono::seconds(10), 1};
constexpr std::int64_t kMaxExtension = 7 * 24 * 3600;

const char* wordOf(CallbackKind news) {
  switch (news) {
    case CallbackKind::kNotice:
      return "idle-notice";
    case CallbackKind::kDue:
      return "idle-due";
    case CallbackKind::kCalledOff:
      break;
  }
  return "idle-called-off";
}

}  // namespace

std::string platformBody(CallbackKind news, const std::string& uid, const std::string& node,
                         const kube::EvictionRequest& pod, const kube::Notice& state) {
  json::object body{{"kind", wordOf(news)}, {"namespace", pod.namespace_name},
                    {"pod", pod.name},      {"uid", uid},
                    {"node", node},         {"idleSince", formatRfc3339(state.since)}};
  if (news != CallbackKind::kCalledOff) body["deadline"] = formatRfc3339(state.deadline);
  return json::serialize(body);
}

Result<std::int64_t> platformAnswer(const std::string& body) {
  if (body.find_first_not_of(" \t\r\n") == std::string::npos) return std::int64_t{0};
  boost::system::error_code fault;
  const json::value value = json::parse(body, fault);
  if (fault || !value.is_object())
    return Error{ErrorCode::kCorrupt, "its answer is not a JSON object"};
  const json::value* asked = value.get_object().if_contains("extendSeconds");
  if (asked == nullptr) return std::int64_t{0};
  const std::int64_t* seconds = asked->if_int64();
  if (seconds == nullptr || *seconds < 0 || *seconds > kMaxExtension)
    return Error{ErrorCode::kCorrupt, "its answer has an invalid extendSeconds; accepted: 0 to " +
                                          std::to_string(kMaxExtension)};
  return *seconds;
}

Result<std::unique_ptr<PlatformCallback>> PlatformCallback::make(asio::any_io_executor executor,
                                                                 kube::Access access) {
  std::string path = access.base.empty() ? "/" : std::exchange(access.base, "");
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(std::move(executor), std::move(access), kTerms);
  if (!client) return client.error();
  return std::unique_ptr<PlatformCallback>(
      new PlatformCallback(std::move(*client), std::move(path)));
}

asio::awaitable<Result<std::int64_t>> PlatformCallback::post(std::string body) {
  kube::Call call{kube::Verb::kPost, path_};
  call.body = std::move(body);
  call.once = true;
  const Result<kube::Reply> reply = co_await client_->send(std::move(call));
  if (!reply) co_return reply.error();
  if (!reply->good()) co_return kube::errorOf(*reply);
  co_return platformAnswer(reply->body);
}

}  // namespace divvy::scheduler
