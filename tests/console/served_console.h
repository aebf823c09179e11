// A console on the loopback interface with agents or a cluster that a test controls, and raw
// clients.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json.hpp>

#include "base/fd.h"
#include "console/console.h"
#include "sample_node.h"

namespace divvy::console {

inline constexpr std::chrono::seconds kPatience{20};

// The agents. Shared by the console's threads and the test.
class FakeAgents {
 public:
  using Explain = std::function<Result<agent::ExplainReply>()>;
  using Change = std::function<Result<void>(const std::string&, const agent::SetRequest&)>;

  void set(std::vector<NodeReading> readings) {
    const std::lock_guard lock(mutex_);
    readings_ = std::move(readings);
  }
  void set(const agent::Snapshot& node) {
    NodeReading reading;
    reading.node = node.node;
    reading.snapshot = node;
    set(std::vector<NodeReading>{reading});
  }
  void onExplain(Explain explain) {
    const std::lock_guard lock(mutex_);
    explain_ = std::move(explain);
  }
  void onChange(Change change) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(change);
  }

  std::vector<NodeReading> readings() {
    const std::lock_guard lock(mutex_);
    return readings_;
  }
  Explain explain() {
    const std::lock_guard lock(mutex_);
    return explain_;
  }
  Change change() {
    const std::lock_guard lock(mutex_);
    return change_;
  }

 private:
  std::mutex mutex_;
  std::vector<NodeReading> readings_;
  Explain explain_;
  Change change_;
};

class FakeSource : public NodeSource {
 public:
  explicit FakeSource(std::shared_ptr<FakeAgents> agents) : agents_(std::move(agents)) {}
  std::vector<NodeReading> read() override { return agents_->readings(); }
  Result<agent::ExplainReply> explain(const std::string&, const agent::RunRequest&) override {
    return agents_->explain()();
  }
  Result<void> change(const std::string& node, const agent::SetRequest& request) override {
    return agents_->change()(node, request);
  }

 private:
  std::shared_ptr<FakeAgents> agents_;
};

// The cluster. Shared by the console's threads and the test.
class FakeClusterState {
 public:
  using Explain =
      std::function<Result<boost::json::object>(const std::string&, const std::string&)>;
  using Plan = std::function<Result<boost::json::array>(
      const std::string& manifest, const std::string& namespace_name, const std::string& token)>;
  using Change = std::function<Result<ClusterChangeOutcome>(const ClusterChange&)>;

  void set(ClusterReading reading) {
    const std::lock_guard lock(mutex_);
    reading_ = std::move(reading);
  }
  void onExplain(Explain explain) {
    const std::lock_guard lock(mutex_);
    explain_ = std::move(explain);
  }
  void onPlan(Plan plan) {
    const std::lock_guard lock(mutex_);
    plan_ = std::move(plan);
  }
  void onChange(Change change) {
    const std::lock_guard lock(mutex_);
    change_ = std::move(change);
  }

  ClusterReading reading() {
    const std::lock_guard lock(mutex_);
    return reading_;
  }
  Explain explain() {
    const std::lock_guard lock(mutex_);
    return explain_;
  }
  Plan plan() {
    const std::lock_guard lock(mutex_);
    return plan_;
  }
  Change change() {
    const std::lock_guard lock(mutex_);
    return change_;
  }

 private:
  std::mutex mutex_;
  ClusterReading reading_;
  Explain explain_;
  Plan plan_;
  Change change_;
};

class FakeClusterSource : public ClusterSource {
 public:
  explicit FakeClusterSource(std::shared_ptr<FakeClusterState> state) : state_(std::move(state)) {}
  ClusterReading read() override { return state_->reading(); }
  Result<boost::json::object> explain(const std::string& namespace_name,
                                      const std::string& pod) override {
    return state_->explain()(namespace_name, pod);
  }
  Result<boost::json::array> plan(const std::string& manifest, const std::string& namespace_name,
                                  const std::string& token) override {
    return state_->plan()(manifest, namespace_name, token);
  }
  Result<ClusterChangeOutcome> change(const ClusterChange& change) override {
    return state_->change()(change);
  }

 private:
  std::shared_ptr<FakeClusterState> state_;
};

struct Reply {
  unsigned status = 0;
  std::string header, body;

  // The value of a header field; empty: there is none.
  std::string field(const std::string& name) const {
    const std::size_t at = header.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t from = at + name.size() + 4;
    return header.substr(from, header.find("\r\n", from) - from);
  }
  boost::json::object json() const {
    boost::system::error_code fault;
    const boost::json::value value = boost::json::parse(body, fault);
    EXPECT_FALSE(fault) << "no JSON: " << body;
    return value.is_object() ? value.get_object() : boost::json::object();
  }
  std::string errorCode() const {
    const boost::json::object object = json();
    const boost::json::value* error = object.if_contains("error");
    return error == nullptr ? std::string() : std::string(error->at("code").as_string());
  }
};

// A connection to the console.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }

  void send(const std::string& text) { ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); }

  // Returns all that was received up to and with `mark`; all until the end or silence without it.
  std::string until(const std::string& mark) {
    std::size_t at = kept_.find(mark);
    while (at == std::string::npos) {
      // The part of the mark that was there before is looked at again.
      const std::size_t from = kept_.size() - std::min(kept_.size(), mark.size());
      if (!receive()) break;
      at = kept_.find(mark, from);
    }
    const std::size_t size = at == std::string::npos ? kept_.size() : at + mark.size();
    std::string text = kept_.substr(0, size);
    kept_.erase(0, size);
    return text;
  }
  std::string rest() {
    while (receive()) {
    }
    return std::exchange(kept_, {});
  }
  bool ended() const { return ended_; }

 private:
  bool receive() {
    pollfd waiting{fd_.get(), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) <= 0)
      return false;
    char bytes[16'384];
    const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
    ended_ = got <= 0;
    if (got > 0) kept_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  Fd fd_;
  std::string kept_;
  bool ended_ = false;
};

class ServedConsole : public testing::Test {
 protected:
  struct Session {
    std::string cookie;  // NAME=VALUE
    std::string csrf;
  };

  ServedConsole() {
    options_.port = 0;
    options_.interval = std::chrono::milliseconds(20);
    options_.user = "ana";
    options_.version = "1.2.3";
    agents_->set(sampleNode());
    agents_->onExplain([] { return agent::ExplainReply(); });
    agents_->onChange([](const std::string&, const agent::SetRequest&) { return Result<void>(); });
  }
  ~ServedConsole() override { stop(); }

  // Starts a console that has read its agents.
  void start() {
    serve(std::make_unique<FakeSource>(agents_));
    ASSERT_TRUE(
        eventually([&] { return ask("GET", options_.base_path + "readyz").status == 200; }));
  }
  void serve(std::unique_ptr<NodeSource> source) {
    run(Console::start(
        loop_.get_executor(), options_, std::move(source),
        [](const agent::TenantView&, const agent::Snapshot&) { return std::vector<std::string>(); },
        [this](const std::string& link) { show(link); }));
  }
  void serve(std::unique_ptr<ClusterSource> source) {
    run(Console::start(loop_.get_executor(), options_, std::move(source),
                       [this](const std::string& link) { show(link); }));
  }
  void show(const std::string& link) {
    const std::lock_guard lock(mutex_);
    links_.push_back(link);
  }
  void run(Result<std::unique_ptr<Console>> console) {
    ASSERT_TRUE(console) << console.error().message();
    console_ = std::move(*console);
    const std::string address = console_->address();
    port_ = static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
    thread_ = std::thread([this] { loop_.run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    inLoop([this] { console_.reset(); });
    loop_.stop();
    thread_.join();
  }

  void inLoop(const std::function<void()>& work) {
    auto task = std::make_shared<std::packaged_task<void()>>(work);
    auto result = task->get_future();
    boost::asio::post(loop_, [task] { (*task)(); });
    result.get();
  }

  template <typename Condition>
  static bool eventually(Condition condition) {
    for (const auto until = std::chrono::steady_clock::now() + kPatience;
         std::chrono::steady_clock::now() < until;) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    return false;
  }

  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string requestText(const std::string& method, const std::string& target,
                          const std::string& fields, const std::string& body) const {
    const std::string own =
        fields.find("Host: ") == std::string::npos ? "Host: " + host() + "\r\n" : "";
    return method + " " + target + " HTTP/1.1\r\n" + own + fields +
           (body.empty() && method != "POST"
                ? ""
                : "Content-Length: " + std::to_string(body.size()) + "\r\n") +
           "Connection: close\r\n\r\n" + body;
  }
  Reply ask(const std::string& method, const std::string& target, const std::string& fields = "",
            const std::string& body = "") const {
    RawClient client(port_);
    client.send(requestText(method, target, fields, body));
    Reply reply;
    reply.header = client.until("\r\n\r\n");
    reply.body = client.rest();
    if (reply.header.starts_with("HTTP/1.1 "))
      reply.status = static_cast<unsigned>(std::stoul(reply.header.substr(9, 3)));
    return reply;
  }
  static std::string fieldsOf(const Session& session) {
    return "Cookie: " + session.cookie + "\r\nX-Divvy-CSRF: " + session.csrf + "\r\n";
  }
  Reply get(const Session& session, const std::string& target) const {
    return ask("GET", "/api/v1/" + target, fieldsOf(session));
  }
  Reply post(const Session& session, const std::string& target, const std::string& body) const {
    return ask("POST", "/api/v1/" + target, fieldsOf(session), body);
  }

  // Returns the identifiers in a list.
  std::set<std::string> ids(const Session& session, const std::string& target) const {
    std::set<std::string> found;
    const Reply reply = get(session, target);
    EXPECT_EQ(reply.status, 200u) << target << ": " << reply.body;
    if (reply.status != 200) return found;
    const boost::json::object answer = reply.json();
    for (const boost::json::value& item : answer.at("items").as_array())
      found.emplace(item.at("id").as_string());
    return found;
  }

  std::vector<std::string> links() {
    const std::lock_guard lock(mutex_);
    return links_;
  }
  std::string token() {
    const std::string link = links().back();
    return link.substr(link.find("#token=") + 7);
  }
  Reply useToken(const std::string& token) const {
    return ask("POST", options_.base_path + "api/v1/session", "", "{\"token\": \"" + token + "\"}");
  }
  Session opened() {
    const Reply reply = useToken(token());
    EXPECT_EQ(reply.status, 200u) << reply.body;
    const std::string cookie = reply.field("Set-Cookie");
    const boost::json::object object = reply.json();
    return {cookie.substr(0, cookie.find(';')),
            object.contains("csrf") ? std::string(object.at("csrf").as_string()) : ""};
  }

  ConsoleOptions options_;
  std::shared_ptr<FakeAgents> agents_ = std::make_shared<FakeAgents>();
  boost::asio::io_context loop_;
  std::mutex mutex_;
  std::vector<std::string> links_;
  std::unique_ptr<Console> console_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// Holds callers back until the test opens it, at most for kPatience.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait_for(lock, kPatience, [this] { return open_; });
  }
  bool waitFor(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return waiting_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

}  // namespace divvy::console
