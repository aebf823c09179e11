// A driver call that does not come back (F10, F23 of the failure table: a card off the bus, a
// driver that is being replaced) costs the agent one wait and no more.
#include "device/driver_worker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>

#include <filesystem>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kShort = 50ms;

class DriverWorkerTest : public testing::Test {
 protected:
  DriverWorkerTest() {
    std::string pattern = "/tmp/dv-XXXXXX";
    dir_ = mkdtemp(pattern.data());
    setenv("STUCK_NVML", file().c_str(), 1);
  }
  ~DriverWorkerTest() override {
    free();
    fs::remove_all(dir_);
    unsetenv("STUCK_NVML");
  }
  std::string file() const { return dir_ + "/stuck"; }
  void stick() {
    lock_ = Fd(::open(file().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    ASSERT_EQ(flock(lock_.get(), LOCK_EX), 0);
  }
  void free() { lock_.reset(); }
  static std::string library() { return buildDir() + "/tests/libstuck-nvml.so"; }
  static std::unique_ptr<agent::DriverWorker> open() {
    Result<driver::Nvml> nvml = driver::Nvml::open(library());
    EXPECT_TRUE(nvml);
    return std::make_unique<agent::DriverWorker>(std::move(*nvml), kShort);
  }

  std::string dir_;
  Fd lock_;
};

TEST_F(DriverWorkerTest, DriverAnswers_UseIsReturned) {
  const auto worker = open();
  const Result<driver::DeviceUse> use = worker->use(0);
  ASSERT_TRUE(use) << use.error().message();
  EXPECT_EQ(use->used, gib(1));
  EXPECT_TRUE(worker->processTimes(0).empty());
}

TEST_F(DriverWorkerTest, DriverStuck_FailsFastThenRecovers) {
  const auto worker = open();
  stick();
  const Result<driver::DeviceUse> first = worker->use(0);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(first.error().message().find("does not answer"), std::string::npos);
  // None of these waits: a thousand waits would be a minute.
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(worker->use(0));
  EXPECT_TRUE(worker->processTimes(0).empty());
  free();
  EXPECT_TRUE(eventually([&] { return worker->use(0).has_value(); }, 10s));
}

// The agent's loop asks this once a second.
TEST_F(DriverWorkerTest, DriverStuck_RefreshDoesNotWait) {
  const auto worker = open();
  stick();
  for (int i = 0; i < 1000; ++i) worker->refreshUse({0});
  EXPECT_TRUE(worker->latestTimes().empty());
  EXPECT_FALSE(worker->use(0));
  free();
  EXPECT_TRUE(eventually(
      [&] {
        worker->refreshUse({0});
        return worker->latestTimes().contains(0);
      },
      10s));
}

// Regression: while health was what the driver did not answer, cards stayed as good as they were.
TEST_F(DriverWorkerTest, DriverSilent_HealthSaysNoAnswer) {
  const auto worker = open();
  const std::vector<unsigned> cards{0};
  const auto answers = [&](bool so) {
    return eventually(
        [&] {
          worker->refreshHealth(cards);
          const std::optional<agent::DriverHealth> said = worker->takeHealth(cards);
          return said && said->answers.at(0) == so;
        },
        10s);
  };
  EXPECT_TRUE(answers(true));
  stick();
  EXPECT_TRUE(answers(false));
  free();
  EXPECT_TRUE(answers(true));
}

// A question that nobody waits for is no reason to turn others away.
TEST_F(DriverWorkerTest, RefreshUnderWay_UseStillAnswers) {
  const auto worker = open();
  for (int i = 0; i < 100; ++i) {
    worker->refreshUse({0});
    EXPECT_TRUE(worker->use(0));
  }
}

TEST_F(DriverWorkerTest, DriverStuck_CloseDoesNotWait) {
  auto worker = open();
  stick();
  EXPECT_FALSE(worker->use(0));
  worker.reset();
}

TEST_F(DriverWorkerTest, DriverStuck_AgentKeepsServing) {
  Sandbox sandbox("");
  const std::string driver = sandbox.root() + "-driver";
  fs::create_directory(driver);
  fs::copy_file(library(), driver + "/libnvidia-ml.so.1");
  sandbox.set("LD_LIBRARY_PATH", driver);
  sandbox.set("STUCK_NVML", file());
  ASSERT_EQ(sandbox.divvy({"gpus"}).code(), 0);
  stick();
  const Outcome gpus = sandbox.divvy({"gpus"});
  EXPECT_EQ(gpus.code(), 0) << gpus.err;
  EXPECT_NE(gpus.out.find("Stuck card"), std::string::npos) << gpus.out;
  const Outcome run = sandbox.divvy({"run", "--memory", "1Gi", "--", "true"});
  EXPECT_EQ(run.code(), 1);
  EXPECT_NE(run.err.find("out of service"), std::string::npos) << run.err;
  free();
  EXPECT_TRUE(eventually(
      [&] {
        return sandbox.divvy({"run", "--memory", "1Gi", "--", "true"}).code() == 0;
      },
      10s));
  EXPECT_EQ(sandbox.divvy({"stop", "--force"}).code(), 0);
  fs::remove_all(driver);
}

}  // namespace
}  // namespace divvy::test
