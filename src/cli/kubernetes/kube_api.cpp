#include "kubernetes/kube_api.h"

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
  Reach reach;
  reach.kubeconfig = kubeconfig;
  reach.words.context = context;
  return accessFor(reach);
}

struct Api::Inside {
  asio::io_context loop{1};
  std::unique_ptr<kube::Client> client;
};

Api::Api(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Api::~Api() = default;

Result<std::unique_ptr<Api>> Api::open(kube::Access access, kube::ClientOptions terms) {
  auto inside = std::make_unique<Inside>();
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(inside->loop.get_executor(), std::move(access), terms);
  if (!client) return client.error();
  inside->client = std::move(*client);
  return std::unique_ptr<Api>(new Api(std::move(inside)));
}

Result<std::unique_ptr<Api>> Api::open(const Reach& reach) {
  Result<kube::Access> access = accessFor(reach);
  if (!access) return access.error();
  return open(std::move(*access), reach.with({}));
}

Result<json::value> Api::ask(kube::Call call) {
  std::optional<Result<json::value>> answer;
  const auto work = [&]() -> asio::awaitable<void> {
    answer = co_await inside_->client->ask(std::move(call));
  };
  inside_->loop.restart();
  asio::co_spawn(inside_->loop, work, rethrow);
  inside_->loop.run();
  if (!answer) return Error{ErrorCode::kUnavailable, "the API server gave no answer"};
  return std::move(*answer);
}

Result<kube::Eviction> Api::evict(kube::EvictionOptions ask) {
  std::optional<Result<kube::Eviction>> answer;
  const auto work = [&]() -> asio::awaitable<void> {
    answer = co_await kube::evict(*inside_->client, std::move(ask));
  };
  inside_->loop.restart();
  asio::co_spawn(inside_->loop, work, rethrow);
  inside_->loop.run();
  if (!answer) return Error{ErrorCode::kUnavailable, "the API server gave no answer"};
  return std::move(*answer);
}

Result<void> Api::list(const std::string& path, const std::string& query,
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
    ended = co_await inside_->client->list(path, query, std::move(begin), std::move(keep));
  };
  inside_->loop.restart();
  asio::co_spawn(inside_->loop, work, rethrow);
  inside_->loop.run();
  if (!ended) return Error{ErrorCode::kUnavailable, "the API server gave no answer"};
  if (!*ended) return ended->error();
  for (const json::value& item : items) each(item);
  return {};
}

const std::string& Api::space() const {
  return inside_->client->access().space;
}

}  // namespace divvy::cli
