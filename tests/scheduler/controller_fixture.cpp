#include "controller_fixture.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "gate_world.h"
#include "test_clock.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The loop waits for no other thread or process. The kernel delivers what was sent on loopback at
// once, or a little later on a busy machine: the clocks do not move before that.
constexpr int kIdleMs = 1;
constexpr unsigned kIdleEvery = 4;       // steps, also where nothing is known to be on its way
constexpr unsigned kForRequest = 1'000;  // waits of kIdleMs at most, for a request
constexpr unsigned kForReply = 5;        // the same for a reply
std::size_t requests_lost = 0;           // sent, and not received within that time
std::size_t requests_seen = 0;           // received before the last step
// A wait that is longer takes larger steps.
constexpr std::chrono::seconds kShort{5};
constexpr int kLongStep = 5;
// No exchange ends because the clocks move.
constexpr std::chrono::hours kPatient{1};

json::object textsOf(const Texts& texts) {
  json::object object;
  for (const auto& [key, value] : texts) object[key] = value;
  return object;
}

}  // namespace

ControllerTest::ControllerTest() : client(clientWith({1e6, 1e6, kPatient, 2})) {
  requests_lost = 0;
  requests_seen = 0;
}

// What controllers have under way ends with the loop.
ControllerTest::~ControllerTest() {
  stopped = true;
}

kube::Access ControllerTest::access() const {
  kube::Access access;
  access.host = "127.0.0.1";
  access.port = std::to_string(api.port());
  access.tls = false;
  return access;
}

std::unique_ptr<kube::Client> ControllerTest::clientWith(kube::ClientOptions options) {
  return std::move(*kube::Client::make(loop.get_executor(), access(), options));
}

std::unique_ptr<kube::Client> ControllerTest::clientThatWaits() {
  std::unique_ptr<kube::Client> slow = clientWith({1 / kWaits.count(), 1, 2 * kPatient, 2});
  EXPECT_TRUE(run(slow->send({kube::Verb::kGet, nodePath("none")})));
  return slow;
}

void ControllerTest::step(milliseconds by) {
  loop.restart();
  if (loop.poll() > 0) return;
  const bool replied = api.calls().size() != requests_seen;
  requests_seen = api.calls().size();
  const bool sent = client->calls() > requests_seen + requests_lost;
  const unsigned waits = sent ? kForRequest : replied ? kForReply : ++idle_steps_ % kIdleEvery == 0;
  for (unsigned at = 0; at < waits; ++at) {
    ::poll(nullptr, 0, kIdleMs);
    if (loop.poll() > 0) return;
  }
  if (sent) requests_lost = client->calls() - requests_seen;
  moveClocks(by);
  // Before all others: that makes the loop look at its timers.
  nudge_.expires_at(steady_clock::time_point(std::chrono::seconds(1)));
  nudge_.async_wait([](const boost::system::error_code&) {});
}

bool ControllerTest::until(const std::function<bool()>& so, milliseconds most, milliseconds step) {
  const auto begin = steady_clock::now();
  while (!so()) {
    const auto passed = steady_clock::now() - begin;
    if (passed >= most) return false;
    this->step(passed < kShort ? step : step * kLongStep);
  }
  return true;
}

void ControllerTest::pass(milliseconds time) {
  const auto end = steady_clock::now() + time;
  while (steady_clock::now() < end) step(std::max(time / 100, milliseconds(1)));
}

kube::Pod ControllerTest::podAt(const std::string& path) const {
  return *kube::podOf(*api.find(path));
}

kube::Node ControllerTest::nodeAt(const std::string& path) const {
  return *kube::nodeOf(*api.find(path));
}

json::object podJson(const Texts& limits, const Texts& annotations) {
  json::object pod = podObject({limits}, annotations).as_object();
  for (const char* member : {"name", "namespace", "uid"}) pod["metadata"].as_object().erase(member);
  return pod;
}

kube::Pod podNamed(const std::string& name, const Texts& limits) {
  json::object pod = podJson(limits);
  pod["metadata"] = json::object{{"name", name}, {"namespace", "lab"}, {"uid", "uid-of-" + name}};
  return *kube::podOf(pod);
}

json::object nodeJson(const Texts& annotations) {
  return {{"metadata", json::object{{"annotations", textsOf(annotations)}}}};
}

json::object deviceNodeJson(const std::string& name, unsigned devices) {
  return nodeJson(cardsOn(name, devices).meta.annotations);
}

}  // namespace divvy::scheduler
