#include "writer.h"

#include <algorithm>

#include "snapshot/text.h"

namespace divvy::snapshot {

namespace bj = boost::json;

namespace {

bool isList(const bj::value& value) {
  const bj::array* list = value.if_array();
  return list != nullptr && !list->empty() && list->front().is_object();
}

bool holdsLists(const bj::object& object) {
  return std::any_of(object.begin(), object.end(),
                     [](const auto& member) { return isList(member.value()); });
}

// One line for each thing of a list: for people, and for comparing two of them.
void lines(const bj::value& value, std::size_t depth, std::string& out) {
  const std::string inner = "\n" + std::string(2 * (depth + 1), ' ');
  const std::string outer = "\n" + std::string(2 * depth, ' ');
  const bj::object* object = value.if_object();
  if (object != nullptr && (depth == 0 || (depth == 1 && holdsLists(*object)))) {
    const char* separator = "{";
    for (const auto& member : *object) {
      out += separator + inner + bj::serialize(bj::value(member.key())) + ": ";
      lines(member.value(), depth + 1, out);
      separator = ",";
    }
    out += outer + "}";
  } else if (depth <= 2 && isList(value)) {
    const char* separator = "[";
    for (const bj::value& item : value.get_array()) {
      out += separator + inner + bj::serialize(item);
      separator = ",";
    }
    out += outer + "]";
  } else {
    out += bj::serialize(value);
  }
}

}  // namespace

std::string clean(const std::string& text) {
  std::string result = text;
  bool ascii = true;
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
    ascii = ascii && byte < 0x80;
  }
  if (ascii) return result;
  boost::system::error_code fault;
  bj::parse(bj::serialize(bj::value(bj::string(result))), fault);
  if (!fault) return result;
  for (char& c : result) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return result;
}

std::string write(const Snapshot& snapshot) {
  bj::object all{{"schema", "divvy-snapshot"}, {"version", kVersion}};
  for (auto& member : Writer::objectOf(snapshot)) all[member.key()] = std::move(member.value());
  std::string text;
  lines(all, 0, text);
  return text + "\n";
}

}  // namespace divvy::snapshot
