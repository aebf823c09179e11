// An API server that answers reviews as a test says, on a thread of its own. It keeps all questions
// and their credentials.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/json/value.hpp>

#include "http/server.h"

namespace divvy::test {

inline constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr const char* kSubjectReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
inline constexpr const char* kSelfReviews =
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

// A review as it arrived.
struct Review {
  std::string path;
  std::string authorization;  // the field's value
  std::string impersonated;   // the user
  std::string body;

  boost::json::value json() const;
  // "pods" or "pods in lab": the collection that an access review is about.
  std::string about() const;
};

class ReviewServer {
 public:
  struct Reply {
    unsigned status = 201;
    std::string body;
  };
  // Called on the server's thread.
  using Answer = std::function<Reply(const Review&)>;

  ReviewServer();
  ~ReviewServer();
  ReviewServer(const ReviewServer&) = delete;
  ReviewServer& operator=(const ReviewServer&) = delete;

  // A kubeconfig that leads here, with the token "of-the-console"; gone with this.
  const std::string& kubeconfig() const { return kubeconfig_; }
  // Of further reviews.
  void answer(Answer answer, std::chrono::milliseconds delay = {});
  // What came since the last time, in the order of arrival.
  std::vector<Review> take();
  // Closes the port.
  void close();

  // A review's answer with this status, as JSON.
  static Reply status(const std::string& status) { return {201, "{\"status\":" + status + "}"}; }
  static Reply allowed(bool allowed) {
    return status(allowed ? R"({"allowed":true})" : R"({"allowed":false})");
  }

 private:
  boost::asio::awaitable<http::Answer> serve(http::Query query);
  void run(const std::function<void()>& work);

  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
      loop_.get_executor()};
  std::unique_ptr<http::Server> server_;
  std::mutex mutex_;
  Answer answer_;
  std::chrono::milliseconds delay_{0};
  std::vector<Review> asked_;
  std::string folder_, kubeconfig_;
  std::thread thread_;
};

}  // namespace divvy::test
