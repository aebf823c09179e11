#include "fake_node_api.h"

#include <future>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "fake_api.h"

namespace divvy::test {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPods = "/api/v1/pods";
constexpr unsigned kNotFound = 404;

std::string textOf(const json::object& pod, const char* name) {
  return std::string(pod.at("metadata").at(name).as_string());
}

}  // namespace

struct FakeNodeApi::Impl {
  explicit Impl(const std::string& name)
      : node(std::string(kNodes) + '/' + name),
        work(asio::make_work_guard(loop)),
        api(std::make_unique<FakeApi>(loop.get_executor(), std::set<std::string>{kNodes, kPods})) {
    api->set(node,
             json::object{{"kind", "Node"},
                          {"apiVersion", "v1"},
                          {"metadata", {{"uid", "node-" + name}, {"annotations", json::object()}}},
                          {"status",
                           {{"capacity", {{"example.com/other", "3"}}},
                            {"nodeInfo",
                             {{"containerRuntimeVersion", "containerd://1.6.20"},
                              {"kubeletVersion", "v1.34.0"}}}}}});
    port = api->port();
    thread = std::thread([this] { loop.run(); });
  }
  ~Impl() {
    on([this] {
      api.reset();
      return 0;
    });
    work.reset();
    loop.stop();
    thread.join();
  }

  // Returns what `what` returns on the loop's thread.
  template <typename What>
  auto on(What what) -> decltype(what()) {
    std::packaged_task<decltype(what())()> task(std::move(what));
    auto result = task.get_future();
    asio::post(loop, [&task] { task(); });
    return result.get();
  }

  std::map<std::string, std::string> textsOfNode(const char* part, const char* member) {
    return on([&] {
      std::map<std::string, std::string> texts;
      for (const auto& [key, value] : api->find(node)->at(part).at(member).as_object())
        texts[key] = std::string(value.as_string());
      return texts;
    });
  }

  // Empty UID: all.
  void removePods(const std::string& uid) {
    on([&] {
      for (const std::string& path : api->paths(kPods))
        if (uid.empty() || textOf(*api->find(path), "uid") == uid) api->remove(path);
      return 0;
    });
  }

  const std::string node;
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::unique_ptr<FakeApi> api;
  std::uint16_t port = 0;
  std::thread thread;
};

FakeNodeApi::FakeNodeApi(const std::string& node) : impl_(std::make_unique<Impl>(node)) {}
FakeNodeApi::~FakeNodeApi() = default;

std::string FakeNodeApi::url() const {
  return "http://127.0.0.1:" + std::to_string(impl_->port);
}

void FakeNodeApi::setPod(const json::object& pod) {
  impl_->on([&] {
    impl_->api->set(
        "/api/v1/namespaces/" + textOf(pod, "namespace") + "/pods/" + textOf(pod, "name"), pod);
    return 0;
  });
}

void FakeNodeApi::removePod(const std::string& uid) {
  impl_->removePods(uid);
}

void FakeNodeApi::removePods() {
  impl_->removePods("");
}

std::map<std::string, std::string> FakeNodeApi::notes() const {
  return impl_->textsOfNode("metadata", "annotations");
}

std::map<std::string, std::string> FakeNodeApi::capacity() const {
  return impl_->textsOfNode("status", "capacity");
}

std::vector<std::string> FakeNodeApi::writes() const {
  return impl_->on([&] {
    std::vector<std::string> bodies;
    for (const FakeCall& call : impl_->api->calls("PATCH", impl_->node))
      if (call.changed) bodies.push_back(call.body);
    return bodies;
  });
}

std::vector<std::string> FakeNodeApi::unknown() const {
  return impl_->on([&] {
    std::vector<std::string> lines;
    for (const FakeCall& call : impl_->api->calls()) {
      const bool of_nodes = call.path.starts_with(kNodes);
      const bool usual = call.method == "GET" ? of_nodes || call.status != kNotFound ||
                                                    call.path.find("/pods/") != std::string::npos
                                              : call.method == "PATCH" && of_nodes;
      if (!usual) lines.push_back(call.method + ' ' + call.path);
    }
    return lines;
  });
}

}  // namespace divvy::test
