#include "fake_objects.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "fake_patch.h"

namespace divvy::test {
namespace {

namespace json = boost::json;

// As a server that keeps a window of events.
constexpr std::size_t kMaxEvents = 4096;
constexpr unsigned kCreated = 201;
constexpr unsigned kMalformed = 400;
constexpr unsigned kNotFound = 404;
constexpr unsigned kWrongMethod = 405;
constexpr unsigned kConflict = 409;

// Text at a path of members; empty: there is none.
std::string textAt(const json::value& object, std::initializer_list<const char*> path) {
  const json::value* at = &object;
  for (const char* name : path) {
    const json::object* inside = at->if_object();
    at = inside == nullptr ? nullptr : inside->if_contains(name);
    if (at == nullptr) return "";
  }
  return at->is_string() ? std::string(at->get_string()) : "";
}

std::string metaOf(const json::object& object, const char* member) {
  return textAt(object, {"metadata", member});
}

json::object& metadata(json::object& object) {
  json::value& meta = object["metadata"];
  if (!meta.is_object()) meta.emplace_object();
  return meta.get_object();
}

std::map<std::string, std::string> parametersOf(const std::string& query) {
  std::map<std::string, std::string> all;
  std::istringstream parts(query);
  for (std::string part; std::getline(parts, part, '&');) {
    for (std::size_t at; (at = part.find("%3D")) != std::string::npos;) part.replace(at, 3, "=");
    const std::size_t equals = part.find('=');
    if (equals != std::string::npos) all[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return all;
}

// "metadata.name=p" or "spec.nodeName=n"; empty matches everything.
bool selected(const json::object& object, const std::string& selector) {
  const std::size_t equals = selector.find('=');
  if (equals == std::string::npos) return selector.empty();
  const std::string field = selector.substr(0, equals), value = selector.substr(equals + 1);
  if (field == "metadata.name") return metaOf(object, "name") == value;
  if (field == "metadata.namespace") return metaOf(object, "namespace") == value;
  if (field == "source") return textAt(object, {"source", "component"}) == value;
  return field == "spec.nodeName" && textAt(object, {"spec", "nodeName"}) == value;
}

bool knownSelector(const std::string& selector) {
  return selector.empty() || selector.starts_with("metadata.name=") ||
         selector.starts_with("metadata.namespace=") || selector.starts_with("spec.nodeName=") ||
         selector.starts_with("source=");
}

// A member as it was before: another part of the object's API writes it.
void keep(json::object& object, const json::object& before, const char* member) {
  const json::value* was = before.if_contains(member);
  if (was == nullptr) {
    object.erase(member);
  } else {
    object[member] = *was;
  }
}

std::string conflictOf(const json::object& stored, const std::string& uid,
                       const std::string& version) {
  const std::string is = metaOf(stored, "uid");
  if (!uid.empty() && uid != is)
    return "Precondition failed: UID in precondition: " + uid + ", UID in object meta: " + is;
  if (!version.empty() && version != metaOf(stored, "resourceVersion"))
    return "the object has been modified; please apply your changes to the latest version";
  return "";
}

}  // namespace

json::value FakeCall::json() const {
  boost::system::error_code fault;
  json::value value = json::parse(body, fault);
  return fault ? json::value() : value;
}

FakeReply failure(unsigned status, const std::string& reason, const std::string& message) {
  return {status, json::serialize(json::object{{"kind", "Status"},
                                               {"apiVersion", "v1"},
                                               {"status", "Failure"},
                                               {"reason", reason},
                                               {"message", message},
                                               {"code", status}})};
}

FakeObjects::FakeObjects(std::set<std::string> collections)
    : collections_(std::move(collections)) {}

std::optional<FakeObjects::Place> FakeObjects::placeOf(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream text(path);
  for (std::string part; std::getline(text, part, '/');)
    if (!part.empty()) parts.push_back(part);
  const std::size_t base = parts.empty() ? 0 : parts[0] == "api" ? 2 : 3;
  if (parts.size() <= base) return std::nullopt;
  Place place;
  for (std::size_t at = 0; at < base; ++at) place.collection += '/' + parts[at];
  std::size_t at = base;
  if (parts[at] == "namespaces" && parts.size() >= base + 3) {
    place.namespace_name = parts[at + 1];
    at += 2;
  }
  place.collection += '/' + parts[at++];
  if (at < parts.size()) place.name = parts[at++];
  if (at < parts.size()) place.part = parts[at++];
  if (at < parts.size()) return std::nullopt;
  return place;
}

// ---- changes ------------------------------------------------------------------------------------

void FakeObjects::put(const Place& place, json::object object) {
  std::map<Key, json::object>& all = objects_[place.collection];
  const Key key{place.namespace_name, place.name};
  const auto there = all.find(key);
  metadata(object)["resourceVersion"] = std::to_string(++version_);
  events_.push_back(
      {version_, place.collection, there == all.end() ? "ADDED" : "MODIFIED", object});
  all[key] = std::move(object);
  if (events_.size() > kMaxEvents) {
    oldest_ = events_.front().version;
    events_.pop_front();
  }
}

void FakeObjects::drop(const std::string& collection, const Key& key) {
  std::map<Key, json::object>& all = objects_[collection];
  const auto there = all.find(key);
  if (there == all.end()) return;
  metadata(there->second)["resourceVersion"] = std::to_string(++version_);
  events_.push_back({version_, collection, "DELETED", std::move(there->second)});
  all.erase(there);
}

void FakeObjects::set(const std::string& path, json::object object) {
  const Place place = placeOf(path).value();
  const Key key{place.namespace_name, place.name};
  json::object& meta = metadata(object);
  meta["name"] = place.name;
  if (!place.namespace_name.empty()) meta["namespace"] = place.namespace_name;
  if (!meta.contains("uid")) meta["uid"] = "uid-of-" + place.name;
  if (const json::object* there = find(path)) {
    meta["resourceVersion"] = metaOf(*there, "resourceVersion");
    if (object == *there) return;
    if (metaOf(*there, "uid") != metaOf(object, "uid")) drop(place.collection, key);
  }
  put(place, std::move(object));
}

void FakeObjects::remove(const std::string& path) {
  const Place place = placeOf(path).value();
  drop(place.collection, {place.namespace_name, place.name});
}

const json::object* FakeObjects::stored(const Place& place) const {
  const auto all = objects_.find(place.collection);
  if (all == objects_.end()) return nullptr;
  const auto found = all->second.find({place.namespace_name, place.name});
  return found == all->second.end() ? nullptr : &found->second;
}

const json::object* FakeObjects::find(const std::string& path) const {
  const std::optional<Place> place = placeOf(path);
  return place ? stored(*place) : nullptr;
}

std::vector<std::string> FakeObjects::paths(const std::string& collection) const {
  std::vector<std::string> list;
  const auto all = objects_.find(collection);
  if (all == objects_.end()) return list;
  const std::size_t last = collection.rfind('/');
  for (const auto& [key, object] : all->second)
    list.push_back(key.first.empty() ? collection + '/' + key.second
                                     : collection.substr(0, last) + "/namespaces/" + key.first +
                                           collection.substr(last) + '/' + key.second);
  return list;
}

// ---- requests -----------------------------------------------------------------------------------

FakeReply FakeObjects::reply(FakeCall& call) {
  const std::optional<Place> place = placeOf(call.path);
  if (!place || !collections_.contains(place->collection))
    return failure(kNotFound, "NotFound", "the server could not find the requested resource");
  if (call.method == "GET" && place->name.empty()) return list(*place, call);
  if (call.method == "POST" && place->name.empty()) return create(*place, call);
  const json::object* there = stored(*place);
  if (there == nullptr) return failure(kNotFound, "NotFound", '"' + place->name + "\" not found");
  if (call.method == "GET") return {200, json::serialize(*there)};
  if (call.method == "POST" && place->part == "binding") return bind(*place, call);
  if (call.method == "POST" && place->part == "eviction") return evict(*place, call);
  if (call.method == "PATCH" || call.method == "PUT") return update(*place, call);
  if (call.method == "DELETE") return deleteOne(*place, call);
  return failure(kWrongMethod, "MethodNotAllowed");
}

FakeReply FakeObjects::list(const Place& place, const FakeCall& call) const {
  const auto parameters = parametersOf(call.query);
  const auto given = parameters.find("fieldSelector");
  const std::string selector = given == parameters.end() ? "" : given->second;
  if (!knownSelector(selector) || parameters.contains("labelSelector"))
    return failure(kMalformed, "BadRequest", "the fake API server does not know the selector");
  json::array items;
  if (const auto all = objects_.find(place.collection); all != objects_.end())
    for (const auto& [key, object] : all->second)
      if ((place.namespace_name.empty() || key.first == place.namespace_name) &&
          selected(object, selector))
        items.push_back(object);
  return {200, json::serialize(
                   json::object{{"kind", "List"},
                                {"apiVersion", "v1"},
                                {"metadata", {{"resourceVersion", std::to_string(version_)}}},
                                {"items", std::move(items)}})};
}

FakeReply FakeObjects::create(const Place& place, FakeCall& call) {
  const json::value body = call.json();
  std::string name = textAt(body, {"metadata", "name"});
  const std::string begin = textAt(body, {"metadata", "generateName"});
  if (name.empty() && !begin.empty()) name = begin + std::to_string(version_);
  if (name.empty()) return failure(kMalformed, "BadRequest", "no metadata.name");
  Place at = place;
  at.name = name;
  if (objects_[at.collection].contains({at.namespace_name, name}))
    return failure(kConflict, "AlreadyExists", '"' + name + "\" already exists");
  json::object object = body.get_object();
  json::object& meta = metadata(object);
  if (!at.namespace_name.empty()) meta["namespace"] = at.namespace_name;
  meta["name"] = name;
  meta["uid"] = "uid-of-" + name + '-' + std::to_string(version_ + 1);
  if (parametersOf(call.query).contains("dryRun")) return {kCreated, json::serialize(object)};
  put(at, std::move(object));
  call.changed = true;
  return {kCreated, json::serialize(objects_[at.collection].at({at.namespace_name, name}))};
}

// A patch, or a whole object. What changes nothing makes no new version.
FakeReply FakeObjects::update(const Place& place, FakeCall& call) {
  const json::object& stored = objects_[place.collection].at({place.namespace_name, place.name});
  json::value changed = stored;
  if (call.method == "PUT") {
    changed = call.json();
    if (!changed.is_object()) return failure(kMalformed, "BadRequest", "no object");
  } else {
    const PatchStatus end = applyPatch(call.type, call.body, &changed);
    if (end != PatchStatus::kApplied)
      return failure(static_cast<unsigned>(end), "Invalid", "the patch cannot be applied");
  }
  json::object& object = changed.get_object();
  const std::string conflict =
      conflictOf(stored, metaOf(object, "uid"), metaOf(object, "resourceVersion"));
  if (!conflict.empty()) return failure(kConflict, "Conflict", conflict);
  if (place.part == "status") {
    keep(object, stored, "spec");
  } else if (stored.contains("status")) {
    keep(object, stored, "status");
  }
  for (const char* member : {"name", "namespace", "uid", "resourceVersion"})
    keep(metadata(object), stored.at("metadata").as_object(), member);
  if (parametersOf(call.query).contains("dryRun")) return {200, json::serialize(object)};
  if (object != stored) {
    put(place, object);
    call.changed = true;
  }
  return {200, json::serialize(objects_[place.collection].at({place.namespace_name, place.name}))};
}

FakeReply FakeObjects::bind(const Place& place, FakeCall& call) {
  json::object pod = objects_[place.collection].at({place.namespace_name, place.name});
  const json::value body = call.json();
  const std::string conflict = conflictOf(pod, textAt(body, {"metadata", "uid"}), "");
  if (!conflict.empty()) return failure(kConflict, "Conflict", conflict);
  const std::string node = textAt(pod, {"spec", "nodeName"});
  if (!node.empty())
    return failure(kConflict, "Conflict",
                   "pod " + place.name + " is already assigned to node \"" + node + '"');
  json::value& spec = pod["spec"];
  if (!spec.is_object()) spec.emplace_object();
  spec.get_object()["nodeName"] = textAt(body, {"target", "name"});
  json::value& annotations = metadata(pod)["annotations"];
  if (!annotations.is_object()) annotations.emplace_object();
  if (const json::value* meta = body.as_object().if_contains("metadata"))
    if (const json::value* more = meta->as_object().if_contains("annotations"))
      for (const auto& [key, value] : more->as_object()) annotations.get_object()[key] = value;
  put(place, std::move(pod));
  call.changed = true;
  return {kCreated, R"({"kind":"Status","apiVersion":"v1","status":"Success","code":201})"};
}

// The pod terminates: it stays, with a time of deletion, until the test removes it.
FakeReply FakeObjects::evict(const Place& place, FakeCall& call) {
  json::object pod = objects_[place.collection].at({place.namespace_name, place.name});
  const std::string uid = textAt(call.json(), {"deleteOptions", "preconditions", "uid"});
  const std::string conflict = conflictOf(pod, uid, "");
  if (!conflict.empty()) return failure(kConflict, "Conflict", conflict);
  const bool dry = parametersOf(call.query).contains("dryRun");
  if (!dry && metaOf(pod, "deletionTimestamp").empty()) {
    metadata(pod)["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    put(place, std::move(pod));
    call.changed = true;
  }
  return {kCreated, R"({"kind":"Status","apiVersion":"v1","status":"Success","code":201})"};
}

FakeReply FakeObjects::deleteOne(const Place& place, FakeCall& call) {
  const json::object& stored = objects_[place.collection].at({place.namespace_name, place.name});
  const json::value body = call.json();
  const std::string conflict = conflictOf(stored, textAt(body, {"preconditions", "uid"}),
                                          textAt(body, {"preconditions", "resourceVersion"}));
  if (!conflict.empty()) return failure(kConflict, "Conflict", conflict);
  drop(place.collection, {place.namespace_name, place.name});
  call.changed = true;
  return {200, R"({"kind":"Status","apiVersion":"v1","status":"Success"})"};
}

// ---- watches ------------------------------------------------------------------------------------

bool FakeObjects::watches(const FakeCall& call) const {
  const std::optional<Place> place = placeOf(call.path);
  return call.method == "GET" && place && place->name.empty() &&
         collections_.contains(place->collection) && parametersOf(call.query).contains("watch");
}

std::uint64_t FakeObjects::versionOf(const FakeCall& watch) const {
  const auto parameters = parametersOf(watch.query);
  const auto given = parameters.find("resourceVersion");
  if (given == parameters.end() || given->second.empty()) return version_;
  return std::strtoull(given->second.c_str(), nullptr, 10);
}

std::optional<std::string> FakeObjects::eventsFor(const FakeCall& watch,
                                                  std::uint64_t* version) const {
  if (*version < oldest_) return std::nullopt;
  const Place place = placeOf(watch.path).value();
  const auto parameters = parametersOf(watch.query);
  const auto given = parameters.find("fieldSelector");
  const std::string selector = given == parameters.end() ? "" : given->second;
  std::string lines;
  for (const Event& event : events_) {
    if (event.version <= *version || event.collection != place.collection) continue;
    if (!place.namespace_name.empty() && metaOf(event.object, "namespace") != place.namespace_name)
      continue;
    if (!selected(event.object, selector)) continue;
    lines += json::serialize(json::object{{"type", event.type}, {"object", event.object}}) + '\n';
  }
  *version = version_;
  return lines;
}

}  // namespace divvy::test
