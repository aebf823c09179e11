#include "served_api.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/json.hpp>

#include "kube/registration.h"
#include "one_card.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

}  // namespace

ServedApi::ServedApi(const std::set<std::string>& collections)
    : api_(std::make_unique<FakeApi>(loop_.get_executor(), collections)) {
  std::string pattern = fs::temp_directory_path().string() + "/divvy-api-XXXXXX";
  folder_ = mkdtemp(pattern.data()) == nullptr ? "" : pattern;
  kubeconfig_ = folder_ + "/kubeconfig";
  std::ofstream(kubeconfig_) << "apiVersion: v1\nkind: Config\ncurrent-context: staging\n"
                                "contexts: [{name: staging, context: {cluster: c, user: u}}]\n"
                                "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:"
                             << api_->port()
                             << "'}}]\nusers: [{name: u, user: {token: a-token}}]\n";
  thread_ = std::thread([this] { loop_.run(); });
}

ServedApi::~ServedApi() {
  close();
  loop_.stop();
  thread_.join();
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

void ServedApi::run(const std::function<void()>& work) {
  std::promise<void> done;
  boost::asio::post(loop_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void ServedApi::use(const std::function<void(FakeApi&)>& work) {
  run([&] { work(*api_); });
}

void ServedApi::set(const std::string& path, const json::object& object) {
  use([&](FakeApi& api) { api.set(path, object); });
}

void ServedApi::remove(const std::string& path) {
  use([&](FakeApi& api) { api.remove(path); });
}

void ServedApi::close() {
  run([this] { api_.reset(); });
}

json::object gpuNode(const std::string& name, unsigned devices) {
  std::vector<kube::RegisteredDevice> cards;
  for (unsigned at = 0; at < devices; ++at) {
    cards.push_back(oneCard());
    cards.back().index = at;
    cards.back().id = "GPU-" + name + '-' + std::to_string(at);
  }
  return {{"metadata", {{"annotations", {{"hami.io/node-nvidia-register", kube::encode(cards)}}}}},
          {"status",
           {{"allocatable", {{"cpu", "64"}, {"pods", "110"}}},
            {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

json::object gpuPod(const std::string& name, const json::object& annotations) {
  json::object limits{{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "8192"}};
  json::object container{
      {"name", "main"}, {"image", "serve:1"}, {"resources", {{"limits", std::move(limits)}}}};
  json::object meta{
      {"name", name}, {"annotations", annotations}, {"creationTimestamp", "2026-01-02T03:04:05Z"}};
  json::object spec{{"schedulerName", "divvy-scheduler"},
                    {"containers", json::array{std::move(container)}}};
  return {
      {"metadata", std::move(meta)}, {"spec", std::move(spec)}, {"status", {{"phase", "Pending"}}}};
}

json::object boundPod(const std::string& name, const std::string& node, unsigned device) {
  json::object pod =
      gpuPod(name, {{"hami.io/vgpu-node", node},
                    {"hami.io/vgpu-devices-allocated",
                     "GPU-" + node + '-' + std::to_string(device) + ",NVIDIA,8192,10:;"}});
  pod["spec"].get_object()["nodeName"] = node;
  pod["status"] = json::object{{"phase", "Running"}};
  return pod;
}

}  // namespace divvy::test
