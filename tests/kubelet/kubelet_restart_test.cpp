// Kubelets that begin anew between two of a plugin's questions, whichever two.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <set>

#include "fake_kubelet.h"
#include "kubelet/device_plugin.h"

namespace divvy::kubelet {
namespace {

using testing::FakeKubelet;

// Does something before some of the questions that are asked of it, counted from when it was told.
// Refuses connections for a while if it was told so.
class Interrupted final : public KubeletDirs {
 public:
  Interrupted(std::string root, std::function<void()> what)
      : own_(std::move(root)), what_(std::move(what)) {}

  void interrupt(std::set<unsigned> before) {
    const std::lock_guard<std::mutex> hold(mutex_);
    before_ = std::move(before);
    asked_ = 0;
  }
  void refuse(unsigned times) { refusals_ = times; }
  bool isOver() {
    const std::lock_guard<std::mutex> hold(mutex_);
    return before_.empty();
  }

  std::string pathOf(std::string_view name) const override { return own_.pathOf(name); }
  std::string pathOf(Api api) const override { return own_.pathOf(api); }
  FileId fileIdOf(const std::string& name) override { return asked().fileIdOf(name); }
  bool isListenedTo(const std::string& name) override { return asked().isListenedTo(name); }
  Result<Fd> listen(const std::string& name) override { return asked().listen(name); }
  void remove(const std::string& name) override { asked().remove(name); }
  Result<Fd> dial(Api api) override {
    if (refusals_ == 0) return asked().dial(api);
    --refusals_;
    return Error{ErrorCode::kUnavailable, "connecting: Connection refused"};
  }
  Result<Fd> watch() override { return asked().watch(); }
  Result<Fd> checkpoint() override { return asked().checkpoint(); }

 private:
  LocalKubeletDirs& asked() {
    const std::lock_guard<std::mutex> hold(mutex_);
    if (before_.erase(++asked_) > 0) what_();
    return own_;
  }

  LocalKubeletDirs own_;
  const std::function<void()> what_;
  std::mutex mutex_;  // of those below
  std::set<unsigned> before_;
  unsigned asked_ = 0;
  std::atomic<unsigned> refusals_ = 0;
};

class KubeletRestartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sockets_ = std::make_shared<Interrupted>(kubelet_.root(), [this] {
      kubelet_.begin();
      ++begun_;
      before_ = kubelet_.registrations();
    });
    kubelet_.begin();
    Result<std::unique_ptr<DevicePlugin>> plugin = DevicePlugin::begin(
        {sockets_, "ours.sock", "example.com/gpu", [](const std::string&) {}, {"theirs.sock"}},
        {{"a::0", true, -1}}, {});
    ASSERT_TRUE(plugin) << plugin.error().message();
    plugin_ = std::move(*plugin);
    ASSERT_EQ(kubelet_.registration(1).endpoint(), "ours.sock");
  }
  void TearDown() override { plugin_->stop(); }

  // Has it look around.
  void poke() { std::ofstream(kubelet_.folder() + "/poke"); }

  void restartBefore(std::set<unsigned> handlers) {
    const std::size_t restarts = handlers.size();
    begun_ = 0;
    sockets_->interrupt(std::move(handlers));
    poke();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!sockets_->isOver() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_EQ(begun_, restarts);
    EXPECT_EQ(kubelet_.registration(before_ + 1).endpoint(), "ours.sock");
  }

  FakeKubelet kubelet_;
  std::atomic<std::size_t> begun_ = 0;
  std::atomic<std::size_t> before_ = 0;  // registrations when it began anew last
  std::shared_ptr<Interrupted> sockets_;
  std::unique_ptr<DevicePlugin> plugin_;
};

// Regression: it saw its own socket, then the folder was cleared, then it saw the new kubelet's and
// registered a socket that was gone: kubelets try for 10 s to reach that before they answer.
TEST_F(KubeletRestartTest, RestartAtAnyStep_StaleSocketNotRegistered) {
  for (unsigned first = 1; first <= 8; ++first) {
    SCOPED_TRACE(first);
    restartBefore({first});
    EXPECT_EQ(kubelet_.unreached(), 0u);
  }
}

TEST_F(KubeletRestartTest, TwoRestarts_StaleSocketNotRegistered) {
  for (unsigned first = 1; first <= 4; ++first)
    for (unsigned second = first + 1; second <= first + 8; ++second) {
      SCOPED_TRACE(std::to_string(first) + ", " + std::to_string(second));
      restartBefore({first, second});
      EXPECT_EQ(kubelet_.unreached(), 0u);
    }
}

// Its file comes before it listens, and nothing happens in the folder when it does.
TEST_F(KubeletRestartTest, KubeletNotListeningYet_RetriedSoon) {
  using Clock = std::chrono::steady_clock;
  constexpr unsigned kRefusals = 4;
  // A look once a second would take as many seconds, each time.
  constexpr std::chrono::seconds kSoon{kRefusals - 1};
  Clock::duration shortest = Clock::duration::max();
  for (std::size_t number = 2; number <= 4 && shortest >= kSoon; ++number) {
    sockets_->refuse(kRefusals);
    const auto began = Clock::now();
    kubelet_.begin();
    EXPECT_EQ(kubelet_.registration(number).endpoint(), "ours.sock");
    shortest = std::min(shortest, Clock::now() - began);
  }
  EXPECT_LT(shortest, kSoon);
}

}  // namespace
}  // namespace divvy::kubelet
