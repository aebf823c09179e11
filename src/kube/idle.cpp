#include "kube/idle.h"

#include <algorithm>

#include "members.h"

namespace divvy::kube {
namespace {

// No instant is later: sums of a few of them do not overflow.
constexpr std::int64_t kLatest = std::int64_t{1} << 40;
// Source: Kubernetes' names (RFC 1123) and UIDs.
constexpr std::size_t kMostName = 253;
constexpr std::size_t kMostUid = 64;

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
  return !text.empty() && text.size() <= kMostName && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), good);
}

bool isUid(std::string_view text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= kMostUid && std::all_of(text.begin(), text.end(), good);
}

}  // namespace

std::string encode(const IdlePods& pods) {
  json::object object;
  for (const auto& [uid, pod] : pods) {
    json::object one{{"namespace", pod.space}, {"name", pod.name}, {"since", pod.since}};
    if (pod.confirmed != 0) one["confirmed"] = pod.confirmed;
    object[uid] = std::move(one);
  }
  return json::serialize(object);
}

std::string encode(const IdleState& state) {
  return json::serialize(json::object{{"since", state.since},
                                      {"noticed", state.noticed},
                                      {"deadline", state.deadline},
                                      {"told", state.told}});
}

Result<IdlePods> decodeIdlePods(std::string_view text) {
  const Result<json::value> value = parsed(text);
  if (!value) return value.error();
  if (!value->is_object() || value->get_object().size() > kMostIdlePods)
    return Error{ErrorCode::kCorrupt,
                 "expected an object with " + std::to_string(kMostIdlePods) + " pods at most"};
  IdlePods pods;
  for (const auto& [uid, one] : value->get_object()) {
    Members members(one, '.' + std::string(uid));
    IdlePod pod;
    members.text("namespace", &pod.space);
    members.text("name", &pod.name);
    if (!isName(pod.space)) members.fail("namespace", "the name of one");
    if (!isName(pod.name)) members.fail("name", "a pod's");
    readInstant(members, "since", &pod.since);
    if (members.find("confirmed") != nullptr) readInstant(members, "confirmed", &pod.confirmed);
    if (!isUid(std::string_view(uid.data(), uid.size())))
      return Error{ErrorCode::kCorrupt, "a member that is no UID"};
    if (!members.ok()) return members.error();
    pods.emplace(uid, std::move(pod));
  }
  return pods;
}

Result<IdleState> decodeIdleState(std::string_view text) {
  const Result<json::value> value = parsed(text);
  if (!value) return value.error();
  Members members(*value, "");
  IdleState state;
  readInstant(members, "since", &state.since);
  readInstant(members, "noticed", &state.noticed);
  readInstant(members, "deadline", &state.deadline);
  members.flag("told", &state.told);
  if (!members.ok()) return members.error();
  return state;
}

}  // namespace divvy::kube
