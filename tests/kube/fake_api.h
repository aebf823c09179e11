// A fake API server for tests, on loopback: on the test's own event loop, so that no test waits for
// another thread or process.
//
// What it keeps of a real API server's semantics (source: Kubernetes' API concepts; kube_test's
// FakeApi tests hold each):
// - each write makes a new resourceVersion; a write that changes nothing makes none, and no event;
// - 404: unknown collections, and objects that are not there; 405: other methods;
// - 409: a UID or resourceVersion in a patch, update, binding, eviction or deletion that is not the
//   object's; a name that exists already; a binding of a pod that has a node;
// - merge, strategic merge and JSON patches (fake_patch.h); 422 if a step of a JSON patch fails;
// - `status` is written through /status only, and everything else but `spec` through both;
// - a creation, patch, update or eviction with dryRun answers and changes nothing;
// - lists and watches of a collection or a namespace, with fieldSelector metadata.name,
//   metadata.namespace, spec.nodeName or an event's source; 410 as an event for a version before
//   expireHistory();
// - a binding writes the node and adds annotations; an evicted pod gets a time of deletion and
//   stays until the test removes it.
// What it does not have: authentication, admission, validation, defaults, protobuf, label
// selectors (400), lists in several pages, bookmarks, disruption budgets, and a DELETED event for
// an object that matches a field selector no more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/object.hpp>

#include "fake_objects.h"

namespace divvy::test {

enum class FaultKind : std::uint8_t {
  kNone,        // the request is processed; for `before` and `delay`
  kStatus,      // replies with `status` and `body`; nothing is applied
  kBroken,      // closes the connection; nothing is applied
  kAnswerLost,  // applies the request, then closes the connection
};

// What happens to requests instead of a plain reply.
struct Fault {
  std::string method = {};  // empty: any
  std::string path = {};    // of the request, without the query; empty: any
  FaultKind kind = FaultKind::kNone;
  unsigned status = 500;
  std::string body = {};               // of kStatus; empty: a Status of that code
  unsigned retry_after = 0;            // seconds, for the header Retry-After; 0: none
  std::chrono::milliseconds delay{0};  // between the request's arrival and its processing
  std::function<void()> before = {};   // called when the request arrives, before the delay
  unsigned times = 1;                  // number of requests
};

// For the executor's thread only.
class FakeApi {
 public:
  // The collections that the scheduler and its neighbours use.
  static const std::set<std::string>& allCollections();

  explicit FakeApi(boost::asio::any_io_executor executor,
                   std::set<std::string> collections = allCollections());
  ~FakeApi();  // closes all connections
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;

  std::uint16_t port() const;

  // ---- objects, as other clients read and write them ----

  // As FakeObjects. Watches are told of changes.
  void set(const std::string& path, boost::json::object object);
  void remove(const std::string& path);
  const boost::json::object* find(const std::string& path) const;
  std::vector<std::string> paths(const std::string& collection) const;
  // The value of an annotation; empty: there is none, or no such object.
  std::string annotation(const std::string& path, const std::string& key) const;
  // Writes an annotation.
  void annotate(const std::string& path, const std::string& key, const std::string& value);

  // ---- faults ----

  // Faults are tried in the order in which they were added; each is used up after `times`.
  void inject(Fault fault);
  void expireHistory();
  // Closes the connections of all watches.
  void breakWatches();

  // ---- what was requested ----

  // All requests so far, in the order of their arrival, watches included.
  const std::vector<FakeCall>& calls() const;
  // Those with this method whose path is `path`, or below it.
  std::vector<FakeCall> calls(const std::string& method, const std::string& path) const;
  std::size_t count(const std::string& method, const std::string& path) const {
    return calls(method, path).size();
  }

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace divvy::test
