#include "kubelet/device_plugin.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "fake_kubelet.h"

namespace divvy::kubelet {
namespace {

namespace fs = std::filesystem;
using testing::FakeKubelet;

class DevicePluginTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (plugin_) plugin_->stop();
  }

  void beginPlugin() {
    PluginHandlers handlers;
    handlers.allocate = [](std::vector<std::string> ids, const ReplyCallback<Injection>& answer) {
      if (ids.front() == "bad") return answer(Error{ErrorCode::kUnsupported, "no such unit"});
      Injection given;
      given.environment["IDS"] = std::to_string(ids.size());
      given.mounts = {{"/inside", "/outside/" + ids.front(), true}, {"/rw", "/outside", false}};
      given.cdi_devices = {"divvy.dev/pod=" + ids.front()};
      answer(given);
    };
    handlers.start = [this](const std::vector<std::string>& ids,
                            const ReplyCallback<void>& answer) {
      answer(ids.front() == "late" ? Result<void>(Error{ErrorCode::kUnavailable, "ask again"})
                                   : Result<void>());
    };
    if (prefers_)
      handlers.prefer = [this](const PreferredAllocationQuery& ask,
                               const ReplyCallback<std::vector<std::string>>& answer) {
        asked_ = ask;
        if (ask.count == 9) return answer(Error{ErrorCode::kUnavailable, "do as you like"});
        answer(std::vector<std::string>{"a::1", "a::0"});
      };
    handlers.known = [this] { known_ = true; };
    Result<std::unique_ptr<DevicePlugin>> plugin =
        DevicePlugin::begin({std::make_shared<LocalKubeletDirs>(kubelet_.root()),
                             "ours.sock",
                             "example.com/gpu",
                             [this](const std::string& line) {
                               const std::lock_guard<std::mutex> hold(mutex_);
                               said_.push_back(line);
                               more_.notify_all();
                             },
                             {"theirs.sock"}},
                            {{"a::0", true, 1}, {"a::1", false, -1}}, std::move(handlers));
    ASSERT_TRUE(plugin) << plugin.error().message();
    plugin_ = std::move(*plugin);
  }

  static void bound(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    context.set_wait_for_ready(true);
  }

  // What ListAndWatch says first.
  v1beta1::ListAndWatchResponse devicesNow() {
    grpc::ClientContext context;
    bound(context);
    v1beta1::ListAndWatchResponse response;
    const auto stub = kubelet_.plugin();
    const auto stream = stub->ListAndWatch(&context, {});
    EXPECT_TRUE(stream->Read(&response));
    context.TryCancel();
    return response;
  }

  // What is preferred for so many; each container is asked about on its own.
  grpc::Status preferred(int count, v1beta1::PreferredAllocationResponse* response) {
    v1beta1::PreferredAllocationRequest request;
    auto* one = request.add_container_requests();
    for (const char* unit : {"a::0", "a::1", "a::2"}) one->add_available_deviceids(unit);
    one->add_must_include_deviceids("a::1");
    one->set_allocation_size(count);
    grpc::ClientContext context;
    bound(context);
    return kubelet_.plugin()->GetPreferredAllocation(&context, request, response);
  }

  // Within what anybody would wait.
  bool wasSaid(const std::string& words) {
    std::unique_lock<std::mutex> hold(mutex_);
    return more_.wait_for(hold, std::chrono::seconds(20), [&] { return inSaid(words); });
  }
  // With mutex_ held.
  bool inSaid(const std::string& words) const {
    return std::any_of(said_.begin(), said_.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  }

  // Within what anybody would wait.
  template <typename Condition>
  static bool becomes(const Condition& true_now) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!true_now() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return true_now();
  }
  bool settles(bool settled) {
    return becomes([&] { return plugin_->settled() == settled; });
  }

  // Whether the kubelet knows us already.
  bool wasNoticed() {
    const std::lock_guard<std::mutex> hold(mutex_);
    return inSaid("the kubelet knows");
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::string> said_;
  bool prefers_ = true;
  std::atomic<bool> known_ = false;
  PreferredAllocationQuery asked_;  // before its answer is given
  FakeKubelet kubelet_;
  std::unique_ptr<DevicePlugin> plugin_;
};

TEST_F(DevicePluginTest, KubeletStartsLater_RegistersWithDevices) {
  beginPlugin();
  kubelet_.begin();
  const v1beta1::RegisterRequest said = kubelet_.registration(1);
  EXPECT_EQ(said.version(), "v1beta1");
  EXPECT_EQ(said.endpoint(), "ours.sock");
  EXPECT_EQ(said.resource_name(), "example.com/gpu");
  EXPECT_TRUE(said.options().pre_start_required());
  const v1beta1::ListAndWatchResponse devices = devicesNow();
  ASSERT_EQ(devices.devices_size(), 2);
  EXPECT_EQ(devices.devices(0).id(), "a::0");
  EXPECT_EQ(devices.devices(0).health(), "Healthy");
  ASSERT_EQ(devices.devices(0).topology().nodes_size(), 1);
  EXPECT_EQ(devices.devices(0).topology().nodes(0).id(), 1);
  EXPECT_EQ(devices.devices(1).health(), "Unhealthy");
  EXPECT_EQ(devices.devices(1).topology().nodes_size(), 0);
}

TEST_F(DevicePluginTest, RegistrationRefused_Retried) {
  kubelet_.refuse(true);
  kubelet_.begin();
  beginPlugin();
  EXPECT_TRUE(kubelet_.attempted());
  kubelet_.refuse(false);
  EXPECT_EQ(kubelet_.registration(1).endpoint(), "ours.sock");
}

// Another plugin of the same resource: what it left behind is only a file.
class Rival {
 public:
  explicit Rival(const std::string& path) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
  }
  ~Rival() { end(); }
  void end() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

 private:
  int socket_;
};

TEST_F(DevicePluginTest, OtherPluginServesResource_WaitsUntilItEnds) {
  kubelet_.begin();
  Rival other(kubelet_.folder() + "/theirs.sock");
  beginPlugin();
  EXPECT_TRUE(wasSaid("the resource is not registered until that plugin has ended"));
  EXPECT_FALSE(wasNoticed()) << "the kubelet heeds who registered last";
  other.end();
  EXPECT_EQ(kubelet_.registration(1).endpoint(), "ours.sock");
}

TEST_F(DevicePluginTest, OtherPluginCameAndEnded_RegistersAgain) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  Rival other(kubelet_.folder() + "/theirs.sock");
  EXPECT_TRUE(wasSaid("the resource is not registered until that plugin has ended"));
  other.end();
  EXPECT_EQ(kubelet_.registration(2).endpoint(), "ours.sock");
}

// Regression: a kubelet that lost us (another plugin of a name that we do not know registered, and
// went) does not come back, and its sockets are where they were.
TEST_F(DevicePluginTest, WatchCancelled_RegistersAgain) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  grpc::ClientContext context;
  const auto stub = kubelet_.plugin();
  v1beta1::ListAndWatchResponse response;
  const auto stream = stub->ListAndWatch(&context, {});
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(settles(true));
  // It may have registered again already: this kubelet was slow to watch.
  const std::size_t before = kubelet_.registrations();
  context.TryCancel();
  EXPECT_EQ(kubelet_.registration(before + 1).endpoint(), "ours.sock");
}

TEST_F(DevicePluginTest, KubeletOrOtherPluginKnown_Settled) {
  beginPlugin();
  EXPECT_FALSE(plugin_->settled());
  kubelet_.begin();
  kubelet_.registration(1);
  EXPECT_TRUE(settles(true));
  kubelet_.end();
  kubelet_.refuse(true);
  kubelet_.begin();
  EXPECT_TRUE(settles(false));
  Rival other(kubelet_.folder() + "/theirs.sock");
  EXPECT_TRUE(settles(true));
}

// Regression: a node said that it serves what its kubelet had not been told of.
TEST_F(DevicePluginTest, DevicesListed_KnownToKubelet) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  EXPECT_FALSE(known_) << "it does not know which there are";
  devicesNow();
  EXPECT_TRUE(becomes([&] { return known_.load(); }));
}

TEST_F(DevicePluginTest, OtherPluginServesResource_KnownUnregistered) {
  kubelet_.begin();
  const Rival other(kubelet_.folder() + "/theirs.sock");
  beginPlugin();
  EXPECT_TRUE(becomes([&] { return known_.load(); }));
  EXPECT_EQ(kubelet_.registrations(), 0u);
}

TEST_F(DevicePluginTest, DevicesChange_WatcherSent) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  grpc::ClientContext context;
  bound(context);
  const auto stub = kubelet_.plugin();
  const auto stream = stub->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.devices_size(), 2);
  plugin_->setDevices({{"b::0", true, -1}});
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.devices_size(), 1);
  EXPECT_EQ(response.devices(0).id(), "b::0");
}

TEST_F(DevicePluginTest, PreferredAllocation_HandlersAnswerReturned) {
  kubelet_.begin();
  beginPlugin();
  EXPECT_TRUE(kubelet_.registration(1).options().get_preferred_allocation_available());
  v1beta1::PreferredAllocationResponse response;
  ASSERT_TRUE(preferred(2, &response).ok());
  EXPECT_EQ(asked_, (PreferredAllocationQuery{{"a::0", "a::1", "a::2"}, {"a::1"}, 2}));
  ASSERT_EQ(response.container_responses_size(), 1);
  ASSERT_EQ(response.container_responses(0).deviceids_size(), 2);
  EXPECT_EQ(response.container_responses(0).deviceids(0), "a::1");
  EXPECT_EQ(response.container_responses(0).deviceids(1), "a::0");
  ASSERT_TRUE(preferred(-1, &response).ok());
  EXPECT_EQ(asked_.count, 0u);
}

// An error would be the end of the pod.
TEST_F(DevicePluginTest, PreferredAllocationFails_EmptyAnswer) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  v1beta1::PreferredAllocationResponse response;
  ASSERT_TRUE(preferred(9, &response).ok());
  ASSERT_EQ(response.container_responses_size(), 1);
  EXPECT_EQ(response.container_responses(0).deviceids_size(), 0);
}

// A kubelet that is told not to ask, and does.
TEST_F(DevicePluginTest, NoPreferenceHandler_NotOfferedAndEmpty) {
  prefers_ = false;
  kubelet_.begin();
  beginPlugin();
  EXPECT_FALSE(kubelet_.registration(1).options().get_preferred_allocation_available());
  v1beta1::PreferredAllocationResponse response;
  ASSERT_TRUE(preferred(2, &response).ok());
  EXPECT_EQ(response.container_responses(0).deviceids_size(), 0);
}

TEST_F(DevicePluginTest, Allocate_AnswersForEachContainer) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  const auto stub = kubelet_.plugin();
  grpc::ClientContext context;
  bound(context);
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("a::0");
  auto* second = request.add_container_requests();
  second->add_devices_ids("a::1");
  second->add_devices_ids("a::2");
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(stub->Allocate(&context, request, &response).ok());
  ASSERT_EQ(response.container_responses_size(), 2);
  EXPECT_EQ(response.container_responses(1).envs().at("IDS"), "2");
  ASSERT_EQ(response.container_responses(0).mounts_size(), 2);
  EXPECT_EQ(response.container_responses(0).mounts(0).host_path(), "/outside/a::0");
  EXPECT_TRUE(response.container_responses(0).mounts(0).read_only());
  EXPECT_FALSE(response.container_responses(0).mounts(1).read_only());
  ASSERT_EQ(response.container_responses(0).cdi_devices_size(), 1);
  EXPECT_EQ(response.container_responses(0).cdi_devices(0).name(), "divvy.dev/pod=a::0");
}

TEST_F(DevicePluginTest, AllocateWithOneBadContainer_CallFails) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  const auto stub = kubelet_.plugin();
  grpc::ClientContext context;
  bound(context);
  v1beta1::AllocateRequest request;
  request.add_container_requests()->add_devices_ids("bad");
  request.add_container_requests()->add_devices_ids("a::0");
  v1beta1::AllocateResponse response;
  const grpc::Status status = stub->Allocate(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "no such unit");
}

TEST_F(DevicePluginTest, ContainerNotReady_PreStartUnavailable) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  const auto stub = kubelet_.plugin();
  v1beta1::PreStartContainerResponse response;
  for (const auto& [id, code] : {std::pair("late", grpc::StatusCode::UNAVAILABLE),
                                 std::pair("a::0", grpc::StatusCode::OK)}) {
    grpc::ClientContext context;
    bound(context);
    v1beta1::PreStartContainerRequest request;
    request.add_devices_ids(id);
    EXPECT_EQ(stub->PreStartContainer(&context, request, &response).error_code(), code);
  }
}

TEST_F(DevicePluginTest, KubeletRestarts_RegistersAgain) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  kubelet_.begin();
  EXPECT_EQ(kubelet_.registration(2).endpoint(), "ours.sock");
  EXPECT_EQ(devicesNow().devices_size(), 2);
}

TEST_F(DevicePluginTest, SocketRemoved_CreatedAndRegisteredAgain) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  fs::remove(kubelet_.folder() + "/ours.sock");
  EXPECT_EQ(kubelet_.registration(2).endpoint(), "ours.sock");
  EXPECT_EQ(devicesNow().devices_size(), 2);
}

TEST_F(DevicePluginTest, StopDuringWatch_StreamEndsAndSocketGone) {
  kubelet_.begin();
  beginPlugin();
  kubelet_.registration(1);
  grpc::ClientContext context;
  bound(context);
  const auto stub = kubelet_.plugin();
  const auto stream = stub->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse response;
  ASSERT_TRUE(stream->Read(&response));
  plugin_->stop();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_FALSE(fs::exists(kubelet_.folder() + "/ours.sock"));
}

TEST(DevicePluginOptions, InvalidSocketPath_UsageError) {
  for (const auto& [folder, socket] : {std::pair(std::string("/tmp"), std::string("a/b.sock")),
                                       {std::string(86, 'x'), "a.sock"}}) {
    const auto plugin = DevicePlugin::begin(
        {std::make_shared<LocalKubeletDirs>(folder), socket, "example.com/gpu", {}}, {}, {});
    ASSERT_FALSE(plugin);
    EXPECT_EQ(plugin.error().code(), ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace divvy::kubelet
