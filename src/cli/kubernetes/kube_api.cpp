#include "kubernetes/kube_api.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "asio/rethrow.h"
#include "kube/client.h"

namespace divvy::cli {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

}  // namespace

Result<kube::Access> accessFor(const std::string& kubeconfig, const std::string& context) {
  ConnectionOptions connection;
  connection.kubeconfig = kubeconfig;
  connection.words.context = context;
  return accessFor(connection);
}

bool isObjectName(std::string_view name) {
  const auto accepted = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':';
  };
  return !name.empty() && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), accepted);
}

struct KubeApi::Impl {
  asio::io_context loop{1};
  std::unique_ptr<kube::Client> client;
};

KubeApi::KubeApi(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KubeApi::~KubeApi() = default;

Result<std::unique_ptr<KubeApi>> KubeApi::open(kube::Access access, kube::ClientOptions terms) {
  auto impl = std::make_unique<Impl>();
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(impl->loop.get_executor(), std::move(access), terms);
  if (!client) return client.error();
  impl->client = std::move(*client);
  return std::unique_ptr<KubeApi>(new KubeApi(std::move(impl)));
}

Result<std::unique_ptr<KubeApi>> KubeApi::open(const ConnectionOptions& connection) {
  Result<kube::Access> access = accessFor(connection);
  if (!access) return access.error();
  return open(std::move(*access), connection.with({}));
}

Result<json::value> KubeApi::call(kube::Call call) {
  std::optional<Result<json::value>> answer;
  const auto work = [&]() -> asio::awaitable<void> {
    answer = co_await impl_->client->ask(std::move(call));
  };
  impl_->loop.restart();
  asio::co_spawn(impl_->loop, work, rethrow);
  impl_->loop.run();
  if (!answer) return Error{ErrorCode::kUnavailable, "the API server did not answer"};
  return std::move(*answer);
}

Result<std::string> KubeApi::text(const std::string& path) {
  std::optional<Result<kube::Reply>> answer;
  // No temporary: GCC 12 destroys one in a co_await twice.
  kube::Call get{kube::Verb::kGet, path};
  const auto work = [&]() -> asio::awaitable<void> {
    answer = co_await impl_->client->send(std::move(get));
  };
  impl_->loop.restart();
  asio::co_spawn(impl_->loop, work, rethrow);
  impl_->loop.run();
  if (!answer) return Error{ErrorCode::kUnavailable, "the API server did not answer"};
  if (!*answer) return answer->error();
  if (!(*answer)->good()) return kube::errorOf(**answer);
  return std::move((*answer)->body);
}

Result<void> KubeApi::sendAll(
    std::vector<kube::Call> calls, unsigned lanes,
    const std::function<Result<void>(std::size_t index, const kube::Reply& reply)>& each) {
  std::size_t next = 0;
  std::optional<Error> failed;
  const auto lane = [&]() -> asio::awaitable<void> {
    while (!failed && next < calls.size()) {
      const std::size_t index = next++;
      const Result<kube::Reply> reply = co_await impl_->client->send(std::move(calls[index]));
      const Result<void> taken = reply ? each(index, *reply) : Result<void>(reply.error());
      if (!taken && !failed) failed = taken.error();
    }
  };
  impl_->loop.restart();
  for (unsigned count = 0; count < lanes; ++count) asio::co_spawn(impl_->loop, lane, rethrow);
  impl_->loop.run();
  if (failed) return *failed;
  return {};
}

Result<kube::Eviction> KubeApi::evict(kube::EvictionOptions ask) {
  std::optional<Result<kube::Eviction>> answer;
  const auto work = [&]() -> asio::awaitable<void> {
    answer = co_await kube::evict(*impl_->client, std::move(ask));
  };
  impl_->loop.restart();
  asio::co_spawn(impl_->loop, work, rethrow);
  impl_->loop.run();
  if (!answer) return Error{ErrorCode::kUnavailable, "the API server did not answer"};
  return std::move(*answer);
}

Result<void> KubeApi::list(const std::string& path, const std::string& query,
                           const std::function<void(const json::value& item)>& each) {
  // A list that is restarted would report items twice, so they are reported at its end.
  std::vector<json::value> items;
  std::optional<Result<std::string>> ended;
  const auto work = [&]() -> asio::awaitable<void> {
    std::function<void()> begin = [&] { items.clear(); };
    // The page's memory ends with the call, and a plain copy would use it.
    std::function<void(const json::value&)> keep = [&](const json::value& item) {
      items.emplace_back(item, json::storage_ptr());
    };
    ended = co_await impl_->client->list(path, query, std::move(begin), std::move(keep));
  };
  impl_->loop.restart();
  asio::co_spawn(impl_->loop, work, rethrow);
  impl_->loop.run();
  if (!ended) return Error{ErrorCode::kUnavailable, "the API server did not answer"};
  if (!*ended) return ended->error();
  for (const json::value& item : items) each(item);
  return {};
}

const std::string& KubeApi::namespaceName() const {
  return impl_->client->access().namespace_name;
}

}  // namespace divvy::cli
