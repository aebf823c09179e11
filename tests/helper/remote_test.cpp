#include "helper/remote.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "helper/server.h"

namespace divvy::helper {
namespace {

namespace fs = std::filesystem;
using kubelet::Api;

constexpr unsigned kNobody = 64321;

// A helper in a process of its own, and an agent here.
class HelperRemoteTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "far-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
    for (const char* name : {"/device-plugins", "/lent", "/cdi"})
      fs::create_directories(root_ + name);
    link_ = std::make_shared<Client>(root_ + "/helper.sock", std::chrono::seconds(20));
    begin();
  }
  void TearDown() override {
    end(SIGTERM);
    EXPECT_FALSE(fs::exists(root_ + "/helper.sock"));
    fs::remove_all(root_);
  }

  // `slow`: the driver does not answer until slow_ is closed.
  void begin(bool slow = false) {
    std::array<int, 2> told{}, held{};
    ASSERT_EQ(pipe(told.data()), 0);
    ASSERT_EQ(pipe2(held.data(), O_CLOEXEC), 0);
    helper_ = fork();
    if (helper_ == 0) {
      close(held[1]);
      const ServerOptions terms{root_ + "/helper.sock",
                                kNobody + 1,
                                {root_ + "/lent"},
                                std::make_shared<kubelet::LocalKubeletDirs>(root_),
                                root_ + "/cdi",
                                [held]() -> Result<driver::Nvml> {
                                  char none = 0;
                                  (void)!read(held[0], &none, 1);  // until the other end is closed
                                  return Error{ErrorCode::kUnavailable, "no driver here"};
                                },
                                [&](const std::string&) { (void)!write(told[1], "x", 1); },
                                {},
                                ""};
      _exit(serve(terms) ? 0 : 1);
    }
    close(held[0]);
    slow_ = Fd(held[1]);
    if (!slow) slow_.reset();
    const Fd end(told[1]);
    const Fd ready(told[0]);
    pollfd said{ready.get(), POLLIN, 0};
    ASSERT_EQ(poll(&said, 1, 20'000), 1);
  }
  void end(int signal) {
    if (helper_ <= 0) return;
    kill(helper_, signal);
    int status = 0;
    waitpid(helper_, &status, 0);
    if (signal == SIGTERM) {
      EXPECT_EQ(status, 0);
    }
    helper_ = 0;
  }

  std::string root_;
  pid_t helper_ = 0;
  Fd slow_;
  std::shared_ptr<Client> link_;
};

bool endedSoon(const Fd& process) {
  pollfd over{process.get(), POLLIN, 0};
  return poll(&over, 1, 20'000) == 1;
}

TEST_F(HelperRemoteTest, Processes_SeenByHelpersPids) {
  const auto far = RemoteProcesses::make(link_);
  ASSERT_TRUE(far) << far.error().message();
  EXPECT_EQ((*far)->self(), getpid());
  EXPECT_FALSE((*far)->direct());
  std::ifstream own((*far)->folder() + "/" + std::to_string(getpid()) + "/comm");
  std::string name;
  EXPECT_TRUE(std::getline(own, name));
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const Fd process = (*far)->open(child);
  ASSERT_TRUE(process.valid());
  pollfd over{process.get(), POLLIN, 0};
  EXPECT_EQ(poll(&over, 1, 0), 0);
  kill(child, SIGKILL);
  EXPECT_TRUE(endedSoon(process));
  waitpid(child, nullptr, 0);
  EXPECT_FALSE((*far)->open(child).valid());
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(HelperRemoteTest, AcceptedConnection_PeerPidAndUser) {
  const auto far = RemoteProcesses::make(link_);
  ASSERT_TRUE(far) << far.error().message();
  kubelet::LocalKubeletDirs own(root_);
  const Result<Fd> listening = own.listen("kubelet.sock");
  ASSERT_TRUE(listening) << listening.error().message();
  const pid_t child = fork();
  if (child == 0) {
    const Result<Fd> caller = own.dial(Api::kRegistration);
    pause();
    _exit(caller ? 0 : 1);
  }
  pollfd comes{listening->get(), POLLIN, 0};
  ASSERT_EQ(poll(&comes, 1, 20'000), 1);
  const Fd connection(accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC));
  const Result<Peer> peer = (*far)->peer(connection.get());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(*peer, (Peer{child, geteuid()}));
}

// A driver that does not answer keeps the loop's question open; a registration comes meanwhile.
TEST_F(HelperRemoteTest, DriverCallPending_PeerStillAnswered) {
  end(SIGTERM);
  begin(true);
  const auto far = RemoteProcesses::make(link_);
  ASSERT_TRUE(far) << far.error().message();
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const Fd mine(pair[0]), other(pair[1]);
  std::atomic<bool> answered{false};
  std::thread waits([&] {
    RemoteUsage(link_).processes("GPU-a");
    answered = true;
  });
  // It waits for its answer once a question over the same connection has to wait, too.
  std::future<Fd> second;
  const auto held = [&] {
    second = std::async(std::launch::async, [&] { return (*far)->open(getpid()); });
    return second.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout;
  };
  while (!held() && !answered) second.get();
  const Result<Peer> peer = (*far)->peer(mine.get());
  EXPECT_FALSE(answered);
  slow_.reset();
  waits.join();
  EXPECT_TRUE(second.get().valid());
  ASSERT_TRUE(peer) << peer.error().message();
  EXPECT_EQ(*peer, (Peer{getpid(), geteuid()}));
}

TEST_F(HelperRemoteTest, KubeletDirs_ReachedThroughHelper) {
  RemoteKubeletDirs sockets(link_, root_);
  EXPECT_FALSE(sockets.fileIdOf("divvy-a.sock").exists());
  const Result<Fd> events = sockets.watch();
  ASSERT_TRUE(events) << events.error().message();
  const Result<Fd> listening = sockets.listen("divvy-a.sock");
  ASSERT_TRUE(listening) << listening.error().message();
  pollfd changed{events->get(), POLLIN, 0};
  EXPECT_EQ(poll(&changed, 1, 20'000), 1);
  EXPECT_TRUE(sockets.fileIdOf("divvy-a.sock") ==
              kubelet::LocalKubeletDirs(root_).fileIdOf("divvy-a.sock"));
  EXPECT_TRUE(sockets.isListenedTo("divvy-a.sock"));
  const Result<Fd> nobody = sockets.dial(Api::kRegistration);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code(), ErrorCode::kUnavailable);
  std::ofstream(root_ + "/device-plugins/kubelet_internal_checkpoint") << "x";
  EXPECT_TRUE(sockets.checkpoint());
  sockets.remove("divvy-a.sock");
  EXPECT_FALSE(sockets.fileIdOf("divvy-a.sock").exists());
}

// A rollout of helpers: a plugin's server must not begin anew because nobody can look.
TEST_F(HelperRemoteTest, HelperKilled_LastStateKeptUntilRestart) {
  RemoteKubeletDirs sockets(link_, root_);
  const Result<Fd> listening = sockets.listen("divvy-a.sock");
  ASSERT_TRUE(listening);
  const kubelet::FileId file = sockets.fileIdOf("divvy-a.sock");
  const auto far = RemoteProcesses::make(link_);
  ASSERT_TRUE(far);
  end(SIGKILL);
  EXPECT_TRUE(sockets.fileIdOf("divvy-a.sock") == file);
  EXPECT_FALSE(sockets.isListenedTo("theirs.sock"));
  const Result<Fd> note = sockets.checkpoint();
  ASSERT_FALSE(note);
  EXPECT_EQ(note.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(note.error().message().find("helper"), std::string::npos);
  EXPECT_FALSE((*far)->open(getpid()).valid());
  EXPECT_EQ(errno, EAGAIN);  // which is no death
  std::ifstream proc((*far)->folder() + "/" + std::to_string(getpid()) + "/stat");
  EXPECT_TRUE(proc.good());
  begin();
  EXPECT_TRUE((*far)->open(getpid()).valid());
  EXPECT_TRUE(sockets.fileIdOf("divvy-a.sock") == file);
}

TEST_F(HelperRemoteTest, CdiSpec_WrittenAndRemovedThroughHelper) {
  const std::string file = root_ + "/cdi/divvy.dev-pod-a.json";
  for (const char* text : {"first", "second"}) {
    const Result<void> written = writeSpec(*link_, "divvy.dev-pod-a.json", text);
    ASSERT_TRUE(written) << written.error().message();
    std::string found;
    std::ifstream(file) >> found;
    EXPECT_EQ(found, text);
  }
  EXPECT_TRUE(removeSpec(*link_, "divvy.dev-pod-a.json"));
  EXPECT_FALSE(fs::exists(file));
}

// In a rollout: the helper is there before root's agent has gone.
TEST_F(HelperRemoteTest, FilesOfEarlierAgent_SharedAgainOnRequest) {
  const auto modeOf = [](const std::string& path) {
    return static_cast<unsigned>(fs::status(path).permissions()) & 0777u;
  };
  const auto make = [&](const std::string& name) {
    std::ofstream(root_ + "/lent/" + name) << "x";
    fs::permissions(root_ + "/lent/" + name, fs::perms(0600));
    return root_ + "/lent/" + name;
  };
  fs::create_directory(root_ + "/lent");
  const std::string early = make("early");
  ASSERT_TRUE(RemoteProcesses::make(link_));
  EXPECT_EQ(modeOf(early), 0660u);
  const std::string late = make("late");
  ASSERT_TRUE(shareDirsAgain(*link_));
  EXPECT_EQ(modeOf(late), 0660u);
}

TEST_F(HelperRemoteTest, HelperGone_PeerUserStillKnown) {
  const auto far = RemoteProcesses::make(link_);
  ASSERT_TRUE(far);
  std::array<int, 2> both{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()), 0);
  const Fd near(both[0]);
  const Fd other(both[1]);
  EXPECT_EQ(*(*far)->peer(near.get()), (Peer{getpid(), geteuid()}));
  end(SIGKILL);
  EXPECT_EQ(*(*far)->peer(near.get()), (Peer{0, geteuid()}));
  begin();
}

TEST_F(HelperRemoteTest, OtherUser_NotAnswered) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const auto asks = [&](unsigned user) {
    const pid_t child = fork();
    if (child == 0) {
      // The socket is the group's.
      if (setresuid(user, user, user) != 0) _exit(2);
      const auto far = RemoteProcesses::make(
          std::make_shared<Client>(root_ + "/helper.sock", std::chrono::seconds(20)));
      _exit(far ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(asks(kNobody), 1);
  EXPECT_EQ(asks(kNobody + 1), 0);
}

}  // namespace
}  // namespace divvy::helper
