#include "kubelet/pod_resources.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>

#include "podresources_v1.grpc.pb.h"

namespace divvy::kubelet {
namespace {

namespace fs = std::filesystem;

class Lister final : public v1::PodResourcesLister::Service {
 public:
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* response) override {
    v1::PodResources* pod = response->add_pod_resources();
    pod->set_name("trainer");
    pod->set_namespace_("team-a");
    v1::ContainerResources* container = pod->add_containers();
    container->set_name("main");
    // As kubelets say devices of two NUMA nodes.
    for (const char* id : {"a::3", "b::1"}) {
      v1::ContainerDevices* devices = container->add_devices();
      devices->set_resource_name("example.com/gpu");
      devices->add_device_ids(id);
    }
    v1::ContainerDevices* other = container->add_devices();
    other->set_resource_name("example.com/nic");
    other->add_device_ids("a::3");
    pod->add_containers()->set_name("without");
    return grpc::Status::OK;
  }
  grpc::Status GetAllocatableResources(grpc::ServerContext*, const v1::AllocatableResourcesRequest*,
                                       v1::AllocatableResourcesResponse* response) override {
    for (const char* id : {"a::3", "b::1"}) {
      v1::ContainerDevices* devices = response->add_devices();
      devices->set_resource_name("example.com/gpu");
      devices->add_device_ids(id);
    }
    response->add_devices()->set_resource_name("example.com/nothing-well");
    return grpc::Status::OK;
  }
};

Result<std::vector<PodDevices>> listed(const std::string& kubelet_dir) {
  std::promise<Result<std::vector<PodDevices>>> promise;
  std::future<Result<std::vector<PodDevices>>> future = promise.get_future();
  PodResources resources(std::make_shared<LocalKubeletDirs>(kubelet_dir));
  resources.list([&](Result<std::vector<PodDevices>> held) { promise.set_value(std::move(held)); });
  return future.get();
}

PodResources::ResourceNames countedBy(const std::string& kubelet_dir) {
  std::promise<PodResources::ResourceNames> promise;
  std::future<PodResources::ResourceNames> future = promise.get_future();
  PodResources resources(std::make_shared<LocalKubeletDirs>(kubelet_dir));
  resources.count(
      [&](PodResources::ResourceNames counted) { promise.set_value(std::move(counted)); });
  return future.get();
}

TEST(PodResources, ListedDevices_HolderFoundBySet) {
  std::string pattern = (fs::temp_directory_path() / "resources-XXXXXX").string();
  const std::string folder = mkdtemp(pattern.data());
  const std::string socket = folder + "/pod-resources/kubelet.sock";
  fs::create_directory(folder + "/pod-resources");
  Lister lister;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&lister);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const Result<std::vector<PodDevices>> held = listed(folder);
  ASSERT_TRUE(held) << held.error().message();
  ASSERT_EQ(held->size(), 2u);
  const PodDevices* holder = holderOf(*held, "example.com/gpu", {"b::1", "a::3"});
  ASSERT_NE(holder, nullptr);
  EXPECT_EQ(holder->namespace_name, "team-a");
  EXPECT_EQ(holder->pod, "trainer");
  EXPECT_EQ(holder->container, "main");
  EXPECT_EQ(holderOf(*held, "example.com/gpu", {"a::3"}), nullptr);
  EXPECT_EQ(holderOf(*held, "example.com/nic", {"a::3"})->resource, "example.com/nic");
  const PodResources::ResourceNames counted = countedBy(folder);
  ASSERT_TRUE(counted) << counted.error().message();
  EXPECT_EQ(*counted, std::set<std::string>{"example.com/gpu"});
  server->Shutdown();
  fs::remove_all(folder);
}

TEST(PodResources, DevicesListedForTwoPods_NoHolder) {
  const PodDevices one{"team-a", "old", "main", "example.com/gpu", {"a::0"}};
  const PodDevices two{"team-a", "new", "main", "example.com/gpu", {"a::0"}};
  EXPECT_EQ(holderOf({one}, "example.com/gpu", {"a::0"})->pod, "old");
  EXPECT_EQ(holderOf({one, two}, "example.com/gpu", {"a::0"}), nullptr);
}

TEST(PodResources, NoSocket_Unavailable) {
  const Result<std::vector<PodDevices>> held = listed("/nonexistent/kubelet.sock");
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(countedBy("/nonexistent/kubelet.sock"));
}

}  // namespace
}  // namespace divvy::kubelet
