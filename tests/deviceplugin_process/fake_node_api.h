// An API server's side of one node, for an agent that is another process: the fake API server
// (tests/kube/fake_api.h) of nodes and pods on a thread of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace divvy::test {

// For any thread. It serves on loopback from its construction on, and closes its watches at the
// end.
class FakeNodeApi {
 public:
  explicit FakeNodeApi(const std::string& node);
  ~FakeNodeApi();
  FakeNodeApi(const FakeNodeApi&) = delete;
  FakeNodeApi& operator=(const FakeNodeApi&) = delete;

  std::string url() const;
  // Adds a pod, or replaces the one of that namespace and name. Watches are told.
  void setPod(const boost::json::object& pod);
  void removePod(const std::string& uid);
  void removePods();
  // The node's annotations now.
  std::map<std::string, std::string> notes() const;
  std::map<std::string, std::string> capacity() const;
  // Bodies of the patches that changed the node, in order. An agent that hears late of its own
  // write may repeat it.
  std::vector<std::string> writes() const;
  // Requests that no agent makes: other than reads, and patches of nodes.
  std::vector<std::string> unknown() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace divvy::test
