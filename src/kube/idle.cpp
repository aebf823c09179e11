#include "kube/idle.h"

#include "members.h"

namespace divvy::kube {
namespace {

// No instant is later: sums of a few of them do not overflow.
constexpr std::int64_t kLatest = std::int64_t{1} << 40;

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

}  // namespace

std::string encode(const IdlePods& pods) {
  json::object object;
  for (const auto& [uid, pod] : pods)
    object[uid] = json::object{{"namespace", pod.space}, {"name", pod.name}, {"since", pod.since}};
  return json::serialize(object);
}

std::string encode(const IdleState& state) {
  return json::serialize(json::object{
      {"since", state.since}, {"noticed", state.noticed}, {"deadline", state.deadline}});
}

Result<IdlePods> decodeIdlePods(std::string_view text) {
  const Result<json::value> value = parsed(text);
  if (!value) return value.error();
  if (!value->is_object()) return Error{ErrorCode::kCorrupt, "expected an object"};
  IdlePods pods;
  for (const auto& [uid, one] : value->get_object()) {
    Members members(one, '.' + std::string(uid));
    IdlePod pod;
    members.text("namespace", &pod.space);
    members.text("name", &pod.name);
    if (pod.space.empty()) members.fail("namespace", "the pod's");
    if (pod.name.empty()) members.fail("name", "the pod's");
    readInstant(members, "since", &pod.since);
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
  if (!members.ok()) return members.error();
  return state;
}

}  // namespace divvy::kube
