#include "sizing/catalog.h"

#include <boost/json.hpp>
#include <stdexcept>
#include <vector>

#include "models_text.h"
#include "sizing/config.h"
#include "sizing/names.h"

namespace divvy::sizing {
namespace {

namespace bj = boost::json;

std::string textOf(const bj::object& entry, const char* name) {
  const bj::value* value = entry.if_contains(name);
  return value == nullptr ? "" : std::string(value->as_string());
}

// A file of our own: what is wrong with it is a bug, and a test finds it.
CatalogEntry entryOf(const bj::object& entry) {
  const std::string name = textOf(entry, "name");
  Result<ConfigReading> reading = readConfig(bj::serialize(entry.at("config")));
  if (!reading) throw std::logic_error("models.json: " + name + ": " + reading.error().message());
  CatalogEntry out;
  out.model = std::move(reading->model);
  out.model.name = name;
  out.model.repository = textOf(entry, "repository");
  out.published = entry.at("parameters").to_number<std::uint64_t>();
  if (const bj::value* ppm = entry.if_contains("tolerance_ppm"))
    out.tolerance_ppm = ppm->to_number<std::uint64_t>();
  out.note = textOf(entry, "note");
  return out;
}

std::vector<CatalogEntry> readCatalog() {
  const bj::value parsed = bj::parse(kModelsText);
  std::vector<CatalogEntry> entries;
  for (const bj::value& entry : parsed.as_array()) entries.push_back(entryOf(entry.as_object()));
  return entries;
}

}  // namespace

std::span<const CatalogEntry> catalog() {
  static const std::vector<CatalogEntry> entries = readCatalog();
  return entries;
}

Result<ModelShape> findModel(std::string_view text) {
  const std::string wanted = plainName(text);
  std::vector<std::string> names;
  for (const CatalogEntry& entry : catalog()) {
    if (entry.model.name == wanted || plainName(entry.model.repository) == wanted)
      return entry.model;
    names.push_back(entry.model.name);
  }
  const std::size_t slash = text.rfind('/');
  const std::vector<std::string> near =
      nearNames(slash == std::string_view::npos ? text : text.substr(slash + 1), names);
  std::string what = "--model \"" + std::string(text.substr(0, 80)) + "\" is not known; ";
  if (!near.empty()) what += "did you mean " + listed(near) + "? ";
  return Error{ErrorCode::kUsage,
               what + "accepted: a name of divvy size --list, or the path of a config.json"};
}

}  // namespace divvy::sizing
