// An API server's side of one node: its Node and its pods, to read, watch and patch. A peer with a
// contract, not Kubernetes: what it does is what its documentation says of lists, watches and merge
// patches; whatever else is asked is answered with 404, and counted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace divvy::test {

// For any thread. Served on loopback from construction on; who watches is cut off at the end.
class ApiDouble {
 public:
  explicit ApiDouble(const std::string& node);
  ~ApiDouble();
  ApiDouble(const ApiDouble&) = delete;
  ApiDouble& operator=(const ApiDouble&) = delete;

  std::string url() const;
  // New, or in place of the one with that UID; who watches is told.
  void setPod(const boost::json::object& pod);
  void removePod(const std::string& uid);
  void removePods();
  // What is said of the node now.
  std::map<std::string, std::string> notes() const;
  std::map<std::string, std::string> capacity() const;
  // What changed the node, so far, in order. An agent that hears late of its own write may repeat
  // it.
  std::vector<std::string> writes() const;
  std::vector<std::string> unknown() const;  // what was asked that is not known here

 private:
  class Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace divvy::test
