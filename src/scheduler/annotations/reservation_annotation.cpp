#include "annotations/reservation_annotation.h"

#include <boost/json.hpp>

#include "json/path.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

Error bad(const std::string& what) {
  return {ErrorCode::kCorrupt, std::string(kReservationKey) + ": " + what};
}

bool readText(const json::object& object, const char* name, std::string* into) {
  const json::value* found = memberAt(object, {name});
  if (found == nullptr || !found->is_string()) return false;
  *into = found->get_string();
  return true;
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
  if (!readText(object, "epoch", &note.epoch)) return bad("no text \"epoch\"");
  if (!readText(object, "queue", &note.queue)) return bad("no text \"queue\"");
  if (!readText(object, "node", &note.place.node)) return bad("no text \"node\"");
  const json::value* given = memberAt(object, {"given"});
  if (given == nullptr || !given->is_object()) return bad("no object \"given\"");
  for (const auto& [key, value] : given->get_object()) {
    if (!value.is_string()) return bad("\"given\" is not a map of texts");
    note.place.annotations.emplace(key, value.get_string());
  }
  return note;
}

}  // namespace divvy::scheduler
