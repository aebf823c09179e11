#include "kube/eviction_request.h"

#include <algorithm>

#include "objects/members.h"

namespace divvy::kube {
namespace {

// The latest accepted instant; sums of a few of them do not overflow.
constexpr std::int64_t kLatest = std::int64_t{1} << 40;
// Source: Kubernetes' names (RFC 1123) and UIDs.
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxUid = 64;

Result<json::value> parsed(std::string_view text) {
  boost::system::error_code fault;
  json::value value = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  return value;
}

void readInstant(Members& members, const char* name, std::int64_t* to) {
  members.number(name, to);
  if (*to < 1 || *to > kLatest) members.fail(name, "seconds since 1970");
}

bool isName(const std::string& text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kMaxName && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), good);
}

bool isUid(std::string_view text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= kMaxUid && std::all_of(text.begin(), text.end(), good);
}

// The text becomes part of Events and conditions.
bool isWords(std::string_view text) {
  const auto good = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; };
  return text.size() <= kMaxWords && std::all_of(text.begin(), text.end(), good);
}

EvictionRequest readComplaint(Members& members) {
  EvictionRequest one;
  members.text("namespace", &one.namespace_name);
  members.text("name", &one.name);
  if (!isName(one.namespace_name)) members.fail("namespace", "the name of one");
  if (!isName(one.name)) members.fail("name", "a pod's");
  readInstant(members, "since", &one.since);
  if (members.find("confirmed") != nullptr) readInstant(members, "confirmed", &one.confirmed);
  if (members.find("what") != nullptr) members.text("what", &one.what);
  if (!isWords(one.what)) members.fail("what", "a line");
  if (members.find("evicts") != nullptr) members.flag("evicts", &one.evicts);
  return one;
}

}  // namespace

std::string encode(const Complaints& complaints) {
  json::object object;
  for (const auto& [uid, said] : complaints) {
    json::object one{
        {"namespace", said.namespace_name}, {"name", said.name}, {"since", said.since}};
    if (said.confirmed != 0) one["confirmed"] = said.confirmed;
    if (!said.what.empty()) one["what"] = said.what;
    if (!said.evicts) one["evicts"] = false;
    object[uid] = std::move(one);
  }
  return json::serialize(object);
}

std::string encode(const Notice& notice) {
  return json::serialize(json::object{{"since", notice.since},
                                      {"noticed", notice.noticed},
                                      {"deadline", notice.deadline},
                                      {"told", notice.told}});
}

Result<Complaints> decodeComplaints(std::string_view text) {
  const Result<json::value> value = parsed(text);
  if (!value) return value.error();
  if (!value->is_object() || value->get_object().size() > kMaxComplaints)
    return Error{ErrorCode::kCorrupt,
                 "expected an object with " + std::to_string(kMaxComplaints) + " pods at most"};
  Complaints complaints;
  for (const auto& [uid, one] : value->get_object()) {
    Members members(one, '.' + std::string(uid));
    EvictionRequest complaint = readComplaint(members);
    if (!isUid(std::string_view(uid.data(), uid.size())))
      return Error{ErrorCode::kCorrupt, "a member that is not a UID"};
    if (!members.ok()) return members.error();
    complaints.emplace(uid, std::move(complaint));
  }
  return complaints;
}

Result<Notice> decodeNotice(std::string_view text) {
  const Result<json::value> value = parsed(text);
  if (!value) return value.error();
  Members members(*value, "");
  Notice notice;
  readInstant(members, "since", &notice.since);
  readInstant(members, "noticed", &notice.noticed);
  members.number("deadline", &notice.deadline);
  if (notice.deadline < 0 || notice.deadline > kLatest)
    members.fail("deadline", "seconds since 1970, or 0");
  members.flag("told", &notice.told);
  if (!members.ok()) return members.error();
  return notice;
}

}  // namespace divvy::kube
