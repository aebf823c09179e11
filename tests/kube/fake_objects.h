// The objects of the fake API server (fake_api.h), and what its replies to requests are. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

namespace divvy::test {

// A request as it arrived, and the reply to it.
struct FakeCall {
  std::string method;  // "GET", "POST" ...
  std::string path;    // without the query
  std::string query;
  std::string type;           // media type of the body
  std::string authorization;  // the field's value
  std::string body;
  unsigned status = 0;   // of the reply; 0: it was not processed
  bool changed = false;  // it made a new version of an object

  // Returns the body as JSON; null if it is not JSON.
  boost::json::value json() const;
};

struct FakeReply {
  unsigned status = 200;
  std::string body;
};

// Returns a Status of apimachinery's meta/v1.
FakeReply failure(unsigned status, const std::string& reason, const std::string& message = "");

// Not thread-safe.
class FakeObjects {
 public:
  // `collections`: paths of the collections that the server knows, without namespaces:
  // "/api/v1/pods". Requests for others get 404.
  explicit FakeObjects(std::set<std::string> collections);

  // Creates or replaces the object at `path`, "/api/v1/namespaces/lab/pods/p". Fills in name and
  // namespace from the path, a new resourceVersion, and a UID ("uid-of-p") if it has none. An
  // object of another UID at that path is deleted first. An equal object stays as it is.
  void set(const std::string& path, boost::json::object object);
  void remove(const std::string& path);
  // Null: there is none. Valid until the next change.
  const boost::json::object* find(const std::string& path) const;
  // Paths of all objects of a collection, ascending.
  std::vector<std::string> paths(const std::string& collection) const;

  // Processes a request that is no watch. Sets `call.changed`.
  FakeReply reply(FakeCall& call);

  // ---- watches ----

  // Returns true for a GET of a known collection with "watch=1".
  bool watches(const FakeCall& call) const;
  // Returns the events after `*version` that match the watch, as lines, and advances `*version`.
  // None: the history does not reach back that far (410).
  std::optional<std::string> eventsFor(const FakeCall& watch, std::uint64_t* version) const;
  // Forgets the history: watches from a version before now end with 410.
  void expireHistory() { oldest_ = version_, events_.clear(); }
  // The version from which a watch continues ("resourceVersion=7"); without one: now.
  std::uint64_t versionOf(const FakeCall& watch) const;

 private:
  // "/api/v1/namespaces/lab/pods/p/status" is {"/api/v1/pods", "lab", "p", "status"}.
  struct Place {
    std::string collection, namespace_name, name, part;
  };
  using Key = std::pair<std::string, std::string>;  // namespace, name
  struct Event {
    std::uint64_t version;
    std::string collection, type;
    boost::json::object object;
  };

  static std::optional<Place> placeOf(const std::string& path);
  const boost::json::object* stored(const Place& place) const;
  FakeReply list(const Place& place, const FakeCall& call) const;
  FakeReply create(const Place& place, FakeCall& call);
  FakeReply update(const Place& place, FakeCall& call);
  FakeReply bind(const Place& place, FakeCall& call);
  FakeReply evict(const Place& place, FakeCall& call);
  FakeReply deleteOne(const Place& place, FakeCall& call);
  void put(const Place& place, boost::json::object object);
  void drop(const std::string& collection, const Key& key);

  std::set<std::string> collections_;
  std::map<std::string, std::map<Key, boost::json::object>> objects_;  // by collection
  std::deque<Event> events_;
  std::uint64_t version_ = 100;
  std::uint64_t oldest_ = 100;  // version before the first event
};

}  // namespace divvy::test
