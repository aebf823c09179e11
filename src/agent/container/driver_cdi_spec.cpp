#include "container/driver_cdi_spec.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <boost/json.hpp>

#include "base/plain_file.h"
#include "json/path.h"
#include "yaml/documents.h"

namespace divvy::agent {
namespace {

namespace bj = boost::json;

constexpr const char* kOwnPrefix = "divvy.dev-";
constexpr const char* kDriverKind = "nvidia.com/gpu";
constexpr std::size_t kMaxSpec = 4u << 20;

// JSON is also YAML. The text is of another program; readYamlDocuments() bounds its expansion.
Result<bj::object> specOf(const std::string& text) {
  Result<std::vector<YamlDocument>> documents = readYamlDocuments(text, "line");
  if (!documents) return Error{ErrorCode::kCorrupt, "not YAML: " + documents.error().message()};
  if (!documents->empty() && documents->front().value.is_object())
    return std::move(documents->front().value.get_object());
  return Error{ErrorCode::kCorrupt, "no CDI spec"};
}

const bj::object* editsOf(const bj::object& object) {
  const bj::value* found = memberAt(object, {"containerEdits"});
  return found == nullptr ? nullptr : found->if_object();
}

const bj::object* deviceNamed(const bj::object& spec, const std::string& name) {
  for (const bj::value& one : listAt(spec, {"devices"}))
    if (one.is_object() && textAt(one, {"name"}) == name) return &one.get_object();
  return nullptr;
}

// Finds it by UUID, or by the other name that NVIDIA's tools use.
Result<const bj::object*> deviceOf(const bj::object& spec, const DeviceId& card) {
  const std::string other = card.part.empty() ? std::to_string(card.index) : card.part;
  const bj::object* named = deviceNamed(spec, card.uuid);
  if (named == nullptr) named = deviceNamed(spec, other);
  if (named != nullptr) return named;
  return Error{ErrorCode::kNotFound, "the CDI spec of the driver has no device " + card.uuid +
                                         " and none called " + other};
}

// Joins lists without duplicates. Other members of `to` take precedence.
void join(const bj::object& from, bj::object* to) {
  for (const auto& [key, value] : from) {
    if (!value.is_array()) {
      if (!to->contains(key)) (*to)[key] = value;
      continue;
    }
    bj::value& mine = (*to)[key];
    if (!mine.is_array()) mine = bj::array();
    bj::array& list = mine.get_array();
    for (const bj::value& one : value.get_array())
      if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
}

}  // namespace

Result<std::string> findDriverSpec(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code fault;
    std::vector<std::string> files;
    for (std::filesystem::directory_iterator at(folder, fault), end; !fault && at != end;
         at.increment(fault)) {
      const std::string suffix = at->path().extension().string();
      // Our own files are skipped: the agent watches which files are opened.
      if (at->path().filename().string().starts_with(kOwnPrefix)) continue;
      if (suffix == ".json" || suffix == ".yaml") files.push_back(at->path().string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      Result<std::string> text = readPlainFile(file, kMaxSpec);
      if (!text || text->find(kDriverKind) == std::string::npos) continue;
      const Result<bj::object> spec = specOf(*text);
      if (spec && textAt(*spec, {"kind"}) == kDriverKind) return text;
    }
  }
  return Error{ErrorCode::kNotFound, std::string("no CDI spec of ") + kDriverKind +
                                         " exists; run nvidia-ctk cdi generate to create one"};
}

std::string whyNotBy(const std::string& driver, const std::vector<DeviceId>& cards,
                     const std::string& version) {
  const Result<bj::object> spec = specOf(driver);
  if (!spec) return "the CDI spec of the driver is " + spec.error().message();
  for (const DeviceId& card : cards)
    if (const Result<const bj::object*> named = deviceOf(*spec, card); !named)
      return named.error().message();
  for (const bj::value& one : listAt(*spec, {"containerEdits", "mounts"}))
    if (textAt(one, {"hostPath"}).ends_with(".so." + version)) return {};
  return "the CDI spec of the driver names no library of version " + version +
         ", which runs; run nvidia-ctk cdi generate to update it";
}

Result<std::string> withDriver(std::string_view own, const std::string& driver,
                               const std::vector<DeviceId>& cards) {
  Result<bj::object> spec = specOf(std::string(own));
  const Result<bj::object> theirs = specOf(driver);
  if (!spec || !theirs) return spec ? theirs.error() : spec.error();
  bj::object& device = (*spec)["devices"].as_array().at(0).as_object();
  bj::object edits = device["containerEdits"].as_object();
  for (const DeviceId& card : cards) {
    const Result<const bj::object*> named = deviceOf(*theirs, card);
    if (!named) return named.error();
    if (const bj::object* its = editsOf(**named)) join(*its, &edits);
  }
  if (const bj::object* common = editsOf(*theirs)) join(*common, &edits);
  device["containerEdits"] = std::move(edits);
  // Fields of their spec may be of a later version than ours.
  const std::string version = textAt(*theirs, {"cdiVersion"});
  if (!version.empty()) (*spec)["cdiVersion"] = version;
  return bj::serialize(*spec) + "\n";
}

}  // namespace divvy::agent
