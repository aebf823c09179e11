// A console whose viewers sign in with tokens.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "console/viewer.h"
#include "sample_cluster.h"
#include "served_console.h"

namespace divvy::console {

// The API server's reviews. Shared by the console's threads and the test.
class FakeReviewState {
 public:
  struct Account {
    Viewer viewer;
    ViewerScope scope;
  };

  void set(const std::string& token, const Account& account) {
    const std::lock_guard lock(mutex_);
    accounts_[token] = account;
  }
  void remove(const std::string& token) {
    const std::lock_guard lock(mutex_);
    accounts_.erase(token);
  }
  void setFailure(const std::string& failure) {
    const std::lock_guard lock(mutex_);
    failure_ = failure;
  }
  void setGate(Gate* gate) { gate_ = gate; }

  Result<Account> find(const std::string& token) {
    if (Gate* gate = gate_) gate->pass();
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return Error{ErrorCode::kUnavailable, failure_};
    const auto at = accounts_.find(token);
    if (at == accounts_.end()) return Error{ErrorCode::kNotFound, "it is not accepted"};
    return at->second;
  }

  std::atomic<int> authenticated = 0;

 private:
  std::mutex mutex_;
  std::map<std::string, Account> accounts_;
  std::string failure_;
  std::atomic<Gate*> gate_ = nullptr;
};

class FakeReviews : public ViewerReviews {
 public:
  explicit FakeReviews(std::shared_ptr<FakeReviewState> state) : state_(std::move(state)) {}

  Result<Viewer> authenticate(const std::string& token) override {
    ++state_->authenticated;
    Result<FakeReviewState::Account> found = state_->find(token);
    if (!found) return found.error();
    found->viewer.token = token;
    return found->viewer;
  }
  Result<ViewerScope> scopeOf(const Viewer& viewer,
                              const std::vector<std::string>& namespaces) override {
    const Result<FakeReviewState::Account> found = state_->find(viewer.token);
    if (!found) return found.error();
    ViewerScope scope = found->scope;
    // What was not asked about stays hidden.
    for (NamespaceScope* one : {&scope.pods, &scope.events})
      std::erase_if(one->names, [&](const std::string& name) {
        return std::find(namespaces.begin(), namespaces.end(), name) == namespaces.end();
      });
    return scope;
  }

 private:
  std::shared_ptr<FakeReviewState> state_;
};

inline FakeReviewState::Account accountOf(const std::string& user,
                                          const std::set<std::string>& namespaces) {
  FakeReviewState::Account account;
  account.viewer.user = user;
  account.viewer.uid = "uid-of-" + user;
  account.scope.pods.names = account.scope.events.names = namespaces;
  return account;
}

class ServedViewers : public ServedConsole {
 protected:
  ServedViewers() {
    options_.place = "staging";
    options_.host = "0.0.0.0";
    cluster_->set(sampleCluster());
    cluster_->onExplain([](const std::string& namespace_name, const std::string& pod) {
      return Result<boost::json::object>(
          boost::json::object{{"pod", namespace_name + '/' + pod},
                              {"bound", false},
                              {"nodes", boost::json::array{"gpu-1"}}});
    });
    cluster_->onPlan([this](const std::string&, const std::string&, const std::string& token) {
      const std::lock_guard lock(mutex_);
      planned_with_ = token;
      return Result<boost::json::array>(boost::json::array());
    });
    FakeReviewState::Account admin = accountOf("admin", {});
    admin.scope = wholeScope();
    admin.viewer.api_token = true;
    reviews_->set("admin-token", admin);
    reviews_->set("lab-token", accountOf("lara", {"lab"}));
    reviews_->set("ml-token", accountOf("mia", {"ml"}));
    reviews_->set("no-token", accountOf("noor", {}));
  }
  ~ServedViewers() override { stop(); }

  void startViewers() {
    run(Console::start(loop_.get_executor(), options_,
                       std::make_unique<FakeClusterSource>(cluster_),
                       std::make_unique<FakeReviews>(reviews_)));
    ASSERT_TRUE(eventually([&] { return ask("GET", "/readyz").status == 200; }));
  }
  Session signedIn(const std::string& token) {
    const Reply reply = useToken(token);
    EXPECT_EQ(reply.status, 200u) << token << reply.body;
    const std::string cookie = reply.field("Set-Cookie");
    return {cookie.substr(0, cookie.find(';')), std::string(reply.json().at("csrf").as_string())};
  }

  std::shared_ptr<FakeClusterState> cluster_ = std::make_shared<FakeClusterState>();
  std::shared_ptr<FakeReviewState> reviews_ = std::make_shared<FakeReviewState>();
  std::string planned_with_;
};

}  // namespace divvy::console
