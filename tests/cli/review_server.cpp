#include "review_server.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

namespace divvy::test {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::uint64_t kMostBody = 1 << 20;

}  // namespace

boost::json::value Review::json() const {
  boost::system::error_code fault;
  return boost::json::parse(body, fault);
}

std::string Review::about() const {
  const boost::json::value read = json();
  const boost::json::object& asked = read.at("spec").at("resourceAttributes").as_object();
  std::string text(asked.at("resource").as_string());
  if (const boost::json::value* in = asked.if_contains("namespace"))
    text += " in " + std::string(in->as_string());
  return text;
}

ReviewServer::ReviewServer() {
  std::vector<http::Route> routes;
  for (const char* path : {kTokenReviews, kSubjectReviews, kSelfReviews})
    routes.push_back(
        {"POST", path, kMostBody, [this](http::Query query) { return serve(std::move(query)); }});
  Result<std::unique_ptr<http::Server>> server =
      http::Server::start(loop_.get_executor(), {}, std::move(routes));
  if (!server) std::abort();
  server_ = std::move(*server);
  std::string pattern = fs::temp_directory_path().string() + "/divvy-reviews-XXXXXX";
  folder_ = mkdtemp(pattern.data()) == nullptr ? "" : pattern;
  kubeconfig_ = folder_ + "/kubeconfig";
  std::ofstream(kubeconfig_) << "apiVersion: v1\nkind: Config\ncurrent-context: staging\n"
                                "contexts: [{name: staging, context: {cluster: c, user: u}}]\n"
                                "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:"
                             << server_->port()
                             << "'}}]\nusers: [{name: u, user: {token: of-the-console}}]\n";
  thread_ = std::thread([this] { loop_.run(); });
}

ReviewServer::~ReviewServer() {
  close();
  loop_.stop();
  thread_.join();
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

asio::awaitable<http::Answer> ReviewServer::serve(http::Query query) {
  Review review{query.path, std::string(query.header("Authorization")),
                std::string(query.header("Impersonate-User")), query.body};
  Answer answer;
  std::chrono::milliseconds delay{};
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(review);
    answer = answer_;
    delay = delay_;
  }
  if (delay.count() > 0) {
    asio::steady_timer timer(loop_, delay);
    co_await timer.async_wait(asio::use_awaitable);
  }
  const Reply reply = answer(review);
  co_return http::Answer{reply.status, reply.body};
}

void ReviewServer::answer(Answer answer, std::chrono::milliseconds delay) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
  delay_ = delay;
}

std::vector<Review> ReviewServer::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(asked_, {});
}

void ReviewServer::run(const std::function<void()>& work) {
  std::promise<void> done;
  asio::post(loop_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void ReviewServer::close() {
  run([this] { server_.reset(); });
}

}  // namespace divvy::test
