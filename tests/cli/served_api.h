// The fake API server of tests/kube, with watches, on a thread of its own.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>

#include "fake_api.h"

namespace divvy::test {

class ServedApi {
 public:
  explicit ServedApi(const std::set<std::string>& collections = FakeApi::allCollections());
  ~ServedApi();
  ServedApi(const ServedApi&) = delete;
  ServedApi& operator=(const ServedApi&) = delete;

  // A kubeconfig that leads here, with the context "staging"; gone with this.
  const std::string& kubeconfig() const { return kubeconfig_; }

  // Runs `work` on the server's thread and waits for its end. The server must not be closed.
  void use(const std::function<void(FakeApi&)>& work);
  void set(const std::string& path, const boost::json::object& object);
  void remove(const std::string& path);
  // Closes the port and all connections.
  void close();

 private:
  void run(const std::function<void()>& work);

  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
      loop_.get_executor()};
  std::unique_ptr<FakeApi> api_;
  std::string folder_, kubeconfig_;
  std::thread thread_;
};

// A node with so many devices of 80 GiB.
boost::json::object gpuNode(const std::string& name, unsigned devices);
// A pod of namespace lab that requests one device; it waits for the scheduler.
boost::json::object gpuPod(const std::string& name, const boost::json::object& annotations = {});
// The pod, bound to a device of the node that has 8 GiB and 10 % for it.
boost::json::object boundPod(const std::string& name, const std::string& node, unsigned device);

}  // namespace divvy::test
