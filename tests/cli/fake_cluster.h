// An API server of few objects, on a thread of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>

#include "http/server.h"

namespace divvy::test {

// Paths and what is answered; what is not there is 404.
class FakeCluster {
 public:
  struct Said {
    unsigned status = 200;
    std::string body;
  };

  explicit FakeCluster(std::map<std::string, Said> objects);
  ~FakeCluster();

  // A kubeconfig that leads here; gone with this.
  const std::string& kubeconfig() const { return kubeconfig_; }

  // "{items: [...]}" of objects, as lists are.
  static Said list(const std::string& items) {
    return {200, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" + items + "]}"};
  }

 private:
  boost::asio::io_context loop_{1};
  std::unique_ptr<http::Server> server_;
  std::thread serving_;
  std::string folder_, kubeconfig_;
};

// Divvy installed on one node with one card, all of it well, and a pod that has canaries where
// secrets would be.
std::map<std::string, FakeCluster::Said> healthyCluster();

}  // namespace divvy::test
