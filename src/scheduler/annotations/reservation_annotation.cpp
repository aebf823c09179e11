#include "annotations/reservation_annotation.h"

#include <boost/json.hpp>

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

Error bad(const std::string& what) {
  return {ErrorCode::kCorrupt, std::string(kPlanKey) + ": " + what};
}

const std::string* textAt(const json::object& object, const char* name, std::string* into) {
  const json::value* found = object.if_contains(name);
  if (found == nullptr || !found->is_string()) return nullptr;
  *into = found->get_string();
  return into;
}

}  // namespace

std::string encode(const ReservationAnnotation& note) {
  json::object given;
  for (const auto& [key, value] : note.place.annotations) given[key] = value;
  return json::serialize(json::object{{"epoch", note.epoch},
                                      {"queue", note.queue},
                                      {"node", note.place.node},
                                      {"given", std::move(given)}});
}

Result<ReservationAnnotation> decodePlan(const std::string& text) {
  boost::system::error_code fault;
  const json::value said = json::parse(text, fault);
  if (fault || !said.is_object()) return bad("not a JSON object");
  const json::object& object = said.get_object();
  ReservationAnnotation note;
  if (textAt(object, "epoch", &note.epoch) == nullptr) return bad("no text \"epoch\"");
  if (textAt(object, "queue", &note.queue) == nullptr) return bad("no text \"queue\"");
  if (textAt(object, "node", &note.place.node) == nullptr) return bad("no text \"node\"");
  const json::value* given = object.if_contains("given");
  if (given == nullptr || !given->is_object()) return bad("no object \"given\"");
  for (const auto& [key, value] : given->get_object()) {
    if (!value.is_string()) return bad("\"given\" is not a map of texts");
    note.place.annotations.emplace(key, value.get_string());
  }
  return note;
}

}  // namespace divvy::scheduler
