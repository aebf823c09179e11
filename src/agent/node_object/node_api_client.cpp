#include "node_object/node_api_client.h"

#include <chrono>
#include <utility>

#include <boost/json/serialize.hpp>

namespace divvy::agent {
namespace {

namespace json = boost::json;

// The bound is below the 30 s that the kubelet waits for an answer.
constexpr kube::ClientOptions kClientOptions{50, 100, std::chrono::seconds(10), 2};

}  // namespace

Result<void> NodeApiClient::open() {
  Result<std::unique_ptr<kube::Client>> client =
      kube::Client::make(loop_.get_executor(), cluster_.access, kClientOptions);
  if (!client) return client.error();
  client_ = std::move(*client);
  return {};
}

void NodeApiClient::follow(kube::EventHandlers handlers, kube::Informer& informer) {
  asio::co_spawn(loop_,
                 kube::runReflector(*client_, std::move(handlers), informer, shutdown_.flag()),
                 rethrow);
}

asio::awaitable<NodeApiClient::Reply> NodeApiClient::pod(const std::string& namespace_name,
                                                         const std::string& name) {
  kube::Call call;
  call.path = "/api/v1/namespaces/" + namespace_name + "/pods/" + name;
  return client_->ask(std::move(call));
}

asio::awaitable<NodeApiClient::Reply> NodeApiClient::patchNode(const char* subresource,
                                                               const char* member,
                                                               json::object value) {
  kube::Call call;
  call.verb = kube::Verb::kPatch;
  call.path = "/api/v1/nodes/" + cluster_.name + subresource;
  call.body = json::serialize(json::object{{member, std::move(value)}});
  call.type = kube::kMergePatch;
  return client_->ask(std::move(call));
}

}  // namespace divvy::agent
