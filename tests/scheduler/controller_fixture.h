// A controller of the scheduler between a scheduler cache and a fake API server, on one event loop.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include "fake_api.h"
#include "kube/client.h"
#include "scheduler/cache.h"
#include "telemetry/metrics.h"
#include "world.h"

namespace divvy::scheduler {

inline constexpr std::chrono::seconds kLongest{120};
inline constexpr std::chrono::duration<double> kWaits{1'000};

// Fixture. Time is the test's: it passes where nothing else happens (test_clock.h), so that no
// pause of a controller costs real time.
class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest();
  ~ControllerTest() override;

  // Runs the loop until `so` is true, at most for that time. Returns whether it is true. `step`:
  // how far the clocks move where nothing happens; five times as far after 5 s.
  bool until(const std::function<bool()>& so, std::chrono::milliseconds most = kLongest,
             std::chrono::milliseconds step = std::chrono::milliseconds(50));
  // Runs the loop for that time, in a hundred steps.
  void pass(std::chrono::milliseconds time);
  // Runs a coroutine to its end.
  template <typename T>
  T run(boost::asio::awaitable<T> what);

  // Another client of the fake API server.
  std::unique_ptr<kube::Client> clientWith(kube::ClientOptions options);
  // One that sends nothing for kWaits: what happens meanwhile happens between the decision and the
  // write.
  std::unique_ptr<kube::Client> clientThatWaits();
  // As the server's whyNot(): `why_not`.
  std::function<std::string()> whyNot() {
    return [this] { return why_not; };
  }
  kube::Access access() const;

  // Nodes and pods of the fake, as controllers are told of them.
  kube::Pod podAt(const std::string& path) const;
  kube::Node nodeAt(const std::string& path) const;

  boost::asio::io_context loop{1};
  test::FakeApi api{loop.get_executor()};
  std::unique_ptr<kube::Client> client;
  SchedulerCache cache{allVendors(), {}};
  Counters counts;
  std::string why_not;  // empty: this replica leads
  bool stopped = false;

 private:
  void step(std::chrono::milliseconds by);

  boost::asio::steady_timer nudge_{loop};
  unsigned idle_steps_ = 0;
};

template <typename T>
boost::asio::awaitable<void> keepResult(boost::asio::awaitable<T> what, std::optional<T>* out) {
  out->emplace(co_await std::move(what));
}

template <typename T>
T ControllerTest::run(boost::asio::awaitable<T> what) {
  std::optional<T> result;
  boost::asio::co_spawn(loop, keepResult(std::move(what), &result), [](std::exception_ptr fault) {
    if (fault) std::rethrow_exception(fault);
  });
  EXPECT_TRUE(until([&] { return result.has_value(); }));
  return result.value();
}

// "/api/v1/namespaces/lab/pods/NAME" and "/api/v1/nodes/NAME".
inline std::string podPath(const std::string& name) {
  return "/api/v1/namespaces/lab/pods/" + name;
}
inline std::string nodePath(const std::string& name) {
  return "/api/v1/nodes/" + name;
}

// A pod with these limits for its only container, without a name.
boost::json::object podJson(const Texts& limits, const Texts& annotations = {});
// The same as a pod of namespace lab; its UID is "uid-of-NAME".
kube::Pod podNamed(const std::string& name, const Texts& limits);
// A node with these annotations.
boost::json::object nodeJson(const Texts& annotations);
// A node with that many devices of 80 GiB.
boost::json::object deviceNodeJson(const std::string& name, unsigned devices);

}  // namespace divvy::scheduler
