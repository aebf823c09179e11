#include "api/protocol_json.h"

#include <algorithm>

namespace divvy::agent::json {

Reader::Reader(const bj::value& value) : object_(value.if_object()) {
  if (object_ == nullptr) fail("not an object");
}

const bj::value* Reader::find(const char* name) const {
  return object_ == nullptr || !fault_.empty() ? nullptr : object_->if_contains(name);
}

void Reader::text(const char* name, std::string& out) {
  const bj::value* member = find(name);
  if (member == nullptr) return;
  if (!member->is_string()) return fail(std::string(name) + " is not a text");
  out.assign(member->get_string().data(), member->get_string().size());
}

void Reader::flag(const char* name, bool& out) {
  const bj::value* member = find(name);
  if (member == nullptr) return;
  if (!member->is_bool()) return fail(std::string(name) + " is not true or false");
  out = member->get_bool();
}

void Reader::texts(const char* name, std::vector<std::string>& out) {
  const bj::value* member = find(name);
  if (member == nullptr) return;
  if (!member->is_array()) return fail(std::string(name) + " is not a list");
  for (const bj::value& item : member->get_array()) {
    if (!item.is_string()) return fail(std::string(name) + " holds something that is not a text");
    out.emplace_back(item.get_string().data(), item.get_string().size());
  }
}

// Bytes are a number, a part of the device is "50%".
void Reader::memory(const char* name, MemoryRequest& out) {
  const bj::value* member = find(name);
  if (member == nullptr) return;
  if (const bj::string* text = member->if_string()) {
    Result<MemoryRequest> parsed = parseMemoryAsk(std::string_view(text->data(), text->size()));
    if (!parsed) return fail(parsed.error().message());
    out = *parsed;
    return;
  }
  std::uint64_t bytes = 0;
  number(name, bytes);
  if (bytes == 0 || bytes > INT64_MAX)
    return fail(std::string(name) + " is not a fitting number of bytes");
  out = MemoryRequest{{bytes}, 0};
}

void Reader::name(const char* name, std::string& out) {
  text(name, out);
  if (out.empty()) return;
  const Result<std::string> parsed = parseName(out);
  if (!parsed) fail(parsed.error().message());
}

Result<bj::value> parse(std::string_view text) {
  boost::system::error_code fault;
  bj::value value = bj::parse(bj::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  return value;
}

bj::value write(const MemoryRequest& memory) {
  if (memory.isPercent()) return bj::value(memory.text());
  return bj::value(memory.bytes.count);
}

bj::array write(const std::vector<std::string>& texts) {
  bj::array array;
  for (const std::string& text : texts) array.emplace_back(clean(text));
  return array;
}

std::string clean(std::string_view text) {
  const auto plain = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  const bj::value probe(bj::string(text.data(), text.size()));
  boost::system::error_code fault;
  bj::parse(bj::serialize(probe), fault);
  std::string result(text);
  if (!fault) return result;
  for (char& c : result) {
    if (!plain(c)) c = '?';
  }
  return result;
}

namespace {

void prettyInto(std::string& out, const bj::value& value, std::size_t depth) {
  const std::string inner(2 * (depth + 1), ' ');
  const std::string outer(2 * depth, ' ');
  if (value.is_object() && !value.get_object().empty()) {
    const char* separator = "{\n";
    for (const auto& member : value.get_object()) {
      out += separator + inner + bj::serialize(bj::value(member.key())) + ": ";
      prettyInto(out, member.value(), depth + 1);
      separator = ",\n";
    }
    out += "\n" + outer + "}";
  } else if (value.is_array() && !value.get_array().empty()) {
    const char* separator = "[\n";
    for (const bj::value& item : value.get_array()) {
      out += separator + inner;
      prettyInto(out, item, depth + 1);
      separator = ",\n";
    }
    out += "\n" + outer + "]";
  } else {
    out += bj::serialize(value);
  }
}

}  // namespace

std::string pretty(const bj::value& value) {
  std::string out;
  prettyInto(out, value, 0);
  return out + "\n";
}

}  // namespace divvy::agent::json
