// JSON functions shared by both directions of the protocol and by the tenant record. Private.
#pragma once

#include <boost/json.hpp>

#include "agent/protocol.h"

namespace divvy::agent::json {

namespace bj = boost::json;

// Reads the members of one object. Records the first bad member; later reads do nothing.
class Reader {
 public:
  explicit Reader(const bj::value& value);

  bool ok() const { return fault_.empty(); }
  Error error() const { return {ErrorCode::kCorrupt, fault_}; }
  void fail(const std::string& why) {
    if (fault_.empty()) fault_ = why;
  }

  // An absent member leaves `out` as it is.
  void text(const char* name, std::string& out);
  void flag(const char* name, bool& out);
  void texts(const char* name, std::vector<std::string>& out);
  void memory(const char* name, MemoryRequest& out);
  void priority(const char* name, Priority& out) { word(name, parsePriority, out); }
  void coresPolicy(const char* name, CoresPolicy& out) { word(name, parseCoresPolicy, out); }
  void name(const char* name, std::string& out);

  // Reads a word that `parse` turns into a T or an Error.
  template <typename T, typename Parse>
  void word(const char* name, Parse parse, T& out) {
    std::string found;
    text(name, found);
    if (found.empty()) return;
    Result<T> parsed = parse(found);
    if (!parsed) return fail(parsed.error().message());
    out = *parsed;
  }

  template <typename T>
  void number(const char* name, T& out) {
    const bj::value* member = find(name);
    if (member == nullptr) return;
    boost::system::error_code fault;
    const T value = member->to_number<T>(fault);
    if (fault) return fail(std::string(name) + " is not a fitting number");
    out = value;
  }

  // Calls read(Reader&) for each object of an array member.
  template <typename F>
  void each(const char* name, F read) {
    const bj::value* member = find(name);
    if (member == nullptr) return;
    if (!member->is_array()) return fail(std::string(name) + " is not a list");
    for (const bj::value& item : member->get_array()) {
      Reader inner(item);
      read(inner);
      if (!inner.ok()) return fail(std::string(name) + ": " + inner.fault_);
    }
  }

  const bj::value* find(const char* name) const;

 private:
  const bj::object* object_ = nullptr;
  std::string fault_;
};

Result<bj::value> parse(std::string_view text);
bj::value write(const MemoryRequest& memory);
bj::array write(const std::vector<std::string>& texts);
// The text in a form that can be shown and parsed again: bytes that are not UTF-8 become '?'.
std::string clean(std::string_view text);

bj::object write(const Snapshot& snapshot);
void read(Reader& reader, Snapshot& out);

bj::object write(const ExplainReply& reply);
void read(Reader& reader, ExplainReply& out);

bj::object write(const EventView& event);
void read(Reader& reader, EventView& out);
void writeIdle(bj::object& object, const IdleRequest& idle);
void readIdle(Reader& reader, IdleRequest& out);

// With an indentation of two spaces, for people.
std::string pretty(const bj::value& value);

}  // namespace divvy::agent::json
