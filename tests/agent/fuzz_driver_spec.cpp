// Any text as the CDI spec of NVIDIA's toolkit. What a container gets stays ours, with their edits
// of its own cards and of all cards, and nothing of other cards.
#include <algorithm>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "container/driver_cdi_spec.h"
#include "fuzz_input.h"
#include "yaml/documents.h"

using namespace divvy;
using namespace divvy::agent;
namespace json = boost::json;

namespace {

constexpr const char* kVersion = "570.86.15";
constexpr const char* kOwn = R"({"cdiVersion":"0.6.0","kind":"divvy.dev/share","devices":[
  {"name":"abc234","containerEdits":{"env":["DIVVY_TENANT_DIR=/run/divvy/tenant"],
   "deviceNodes":[{"path":"/dev/own"}],
   "mounts":[{"hostPath":"/run/x","containerPath":"/run/divvy/tenant"}]}}]})";
json::object parsed(const std::string& text) {
  json::parse_options options;
  options.max_depth = 200;  // YAML is read to a depth of 100
  return json::parse(text, {}, options).as_object();
}

const json::object& editsOf(const json::object& spec) {
  return spec.at("devices").as_array().at(0).as_object().at("containerEdits").as_object();
}

json::array listIn(const json::object* object, const char* name) {
  const json::value* list = object == nullptr ? nullptr : object->if_contains(name);
  return list != nullptr && list->is_array() ? list->get_array() : json::array();
}

const json::object* objectIn(const json::object& object, const char* name) {
  const json::value* found = object.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

// What containers of these cards may have of a kind of edits: ours, that of all cards, and theirs.
json::array allowed(const json::object& spec, const std::vector<DeviceId>& cards,
                    const char* kind) {
  json::array all = listIn(&editsOf(parsed(kOwn)), kind);
  const auto add = [&](const json::object& of) {
    for (const json::value& edit : listIn(objectIn(of, "containerEdits"), kind))
      all.push_back(edit);
  };
  add(spec);
  for (const json::value& device : listIn(&spec, "devices")) {
    const json::object* object = device.if_object();
    const json::value* name = object == nullptr ? nullptr : object->if_contains("name");
    for (const DeviceId& card : cards) {
      const std::string other = card.part.empty() ? std::to_string(card.index) : card.part;
      if (name != nullptr && (*name == json::value(card.uuid) || *name == json::value(other)))
        add(*object);
    }
  }
  return all;
}

void checkJoined(const std::string& text, const std::string& driver,
                 const std::vector<DeviceId>& cards) {
  const json::object whole = parsed(text), own = parsed(kOwn);
  need(whole.at("kind") == own.at("kind"), "the kind");
  need(whole.at("devices").as_array().size() == 1, "the number of devices");
  need(whole.at("devices").as_array()[0].as_object().at("name") == "abc234", "the name");
  const json::object& edits = editsOf(whole);
  for (const auto& [key, list] : editsOf(own)) {
    const json::array& joined = edits.at(key).as_array();
    const json::array& ours = list.as_array();
    need(joined.size() >= ours.size() && std::equal(ours.begin(), ours.end(), joined.begin()),
         "our edits are first");
  }
  const Result<std::vector<YamlDocument>> documents = readYamlDocuments(driver, "driver");
  for (const char* kind : {"deviceNodes", "mounts", "env", "hooks"}) {
    const json::array may = allowed(documents->front().value.as_object(), cards, kind);
    const json::array list = listIn(&edits, kind);
    for (const json::value& edit : list) {
      need(std::find(may.begin(), may.end(), edit) != may.end(), "what is another card's");
      need(std::count(list.begin(), list.end(), edit) == 1, "an edit that is there twice");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string driver(textOf(data, size));
  const std::vector<std::vector<DeviceId>> asked{
      {{"GPU-a", 0}}, {{"GPU-a", 0}, {"GPU-b", 1}}, {{"MIG-c", 2, "0:1"}}};
  for (const std::vector<DeviceId>& cards : asked) {
    const std::string why_not = whyNotBy(driver, cards, kVersion);
    const Result<std::string> spec = withDriver(kOwn, driver, cards);
    need(!why_not.empty() || spec.has_value(), "a spec that will do can be used");
    if (!spec) {
      const ErrorCode code = spec.error().code();
      need(code == ErrorCode::kNotFound || code == ErrorCode::kCorrupt, "the kind of error");
      need(!spec.error().message().empty(), "an error without a reason");
      continue;
    }
    checkJoined(*spec, driver, cards);
    const Result<std::string> again = withDriver(*spec, driver, cards);
    need(again && *again == *spec, "a second time changes nothing");
  }
  // The text does not name it.
  if (driver.find("77") == driver.npos)
    need(!withDriver(kOwn, driver, {{"GPU-77", 77}}), "a card that is not in the text");
  return 0;
}
