#include "kube/resize_request.h"

#include <algorithm>
#include <array>
#include <limits>

#include "objects/members.h"

namespace divvy::kube {
namespace {

constexpr std::size_t kMaxId = 63;
constexpr std::int64_t kMaxMebibytes = std::int64_t{1} << 40;
constexpr std::int64_t kAllCores = 100;
constexpr std::array<const char*, 3> kPhases{"admitted", "done", "refused"};

bool isId(const std::string& text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= kMaxId && std::all_of(text.begin(), text.end(), good);
}

Result<json::value> parsed(std::string_view text) {
  boost::system::error_code fault;
  json::value value = json::parse(json::string_view(text.data(), text.size()), fault);
  if (fault) return Error{ErrorCode::kCorrupt, "not JSON: " + fault.message()};
  return value;
}

void readId(Members& members, std::string* id) {
  members.text("id", id);
  if (!isId(*id)) members.fail("id", "1 to 63 letters, digits and '-'");
}

// Absent, or within these bounds.
template <typename Number>
void readAmount(Members& members, const char* name, std::int64_t most, std::optional<Number>* to) {
  std::int64_t value = -1;
  members.number(name, &value);
  if (members.find(name) == nullptr) return;
  if (value < 1 || value > most) return members.fail(name, "1 to " + std::to_string(most));
  *to = static_cast<Number>(value);
}

json::object objectOf(const ResizeRequest& change) {
  json::object object{{"id", change.id}, {"container", change.container}};
  if (change.mebibytes) object["memoryMiB"] = *change.mebibytes;
  if (change.cores) object["cores"] = *change.cores;
  if (!change.priority.empty()) object["priority"] = change.priority;
  return object;
}

void readChange(Members& members, ResizeRequest* change) {
  readId(members, &change->id);
  members.text("container", &change->container);
  if (change->container.empty()) members.fail("container", "the name of one");
  readAmount(members, "memoryMiB", kMaxMebibytes, &change->mebibytes);
  readAmount(members, "cores", kAllCores, &change->cores);
  members.text("priority", &change->priority);
  if (members.ok() && !change->mebibytes && !change->cores && change->priority.empty())
    members.fail("memoryMiB", "one of memoryMiB, cores and priority at least");
}

void readResult(const json::value& value, const std::string& id, ChangeResults* results,
                std::optional<Error>* fault) {
  Members members(value, '.' + id);
  ResizeResult result;
  members.flag("done", &result.done);
  members.text("reason", &result.reason);
  members.text("message", &result.message);
  if (!isId(id)) members.fail("", "an id: 1 to 63 letters, digits and '-'");
  if (!members.ok()) *fault = members.error();
  results->emplace(id, std::move(result));
}

}  // namespace

std::string changeReason(const Error& why) {
  switch (why.code()) {
    case ErrorCode::kNoRoom:
      return "NoRoom";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kUnavailable:
      return "Unavailable";
    default:
      return "Invalid";
  }
}

std::string encode(const ResizeRequest& change) {
  return json::serialize(objectOf(change));
}

std::string encode(const ResizeState& state) {
  json::object object{{"id", state.id}, {"phase", kPhases[static_cast<std::size_t>(state.phase)]}};
  if (!state.token.empty()) object["token"] = state.token;
  if (!state.term.empty()) object["term"] = state.term;
  if (!state.change.id.empty()) object["change"] = objectOf(state.change);
  if (!state.reason.empty()) object["reason"] = state.reason;
  if (!state.message.empty()) object["message"] = state.message;
  if (!state.assignment.empty()) object["assignment"] = state.assignment;
  if (state.since != 0) object["since"] = state.since;
  return json::serialize(object);
}

std::string encode(const ChangeResults& results) {
  json::object object;
  for (const auto& [id, result] : results) {
    json::object one{{"done", result.done}};
    if (!result.reason.empty()) one["reason"] = result.reason;
    if (!result.message.empty()) one["message"] = result.message;
    object[id] = std::move(one);
  }
  return json::serialize(object);
}

Result<ResizeRequest> decodeShareChange(std::string_view text) {
  const Result<json::value> value = parsed(text);
  if (!value) return value.error();
  Members members(*value, "");
  ResizeRequest change;
  readChange(members, &change);
  if (!members.ok()) return members.error();
  return change;
}

Result<ResizeState> decodeChangeState(std::string_view text) {
  const Result<json::value> value = parsed(text);
  if (!value) return value.error();
  Members members(*value, "");
  ResizeState state;
  std::string phase;
  readId(members, &state.id);
  members.text("phase", &phase);
  const auto* known = std::find(kPhases.begin(), kPhases.end(), phase);
  if (known == kPhases.end()) {
    members.fail("phase", "admitted, done or refused");
  } else {
    state.phase = static_cast<ResizePhase>(known - kPhases.begin());
  }
  members.text("token", &state.token);
  members.text("term", &state.term);
  members.in("change", [&](Members& change) { readChange(change, &state.change); });
  members.text("reason", &state.reason);
  members.text("message", &state.message);
  members.text("assignment", &state.assignment);
  members.number("since", &state.since);
  if (state.phase == ResizePhase::kAdmitted) {
    if (state.assignment.empty()) members.fail("assignment", "the pod's next assignment");
    if (!isId(state.token)) members.fail("token", "1 to 63 letters, digits and '-'");
    if (state.change.id.empty()) members.fail("change", "the admitted request");
  }
  if (!members.ok()) return members.error();
  return state;
}

Result<ChangeResults> decodeChangeResults(std::string_view text) {
  const Result<json::value> value = parsed(text);
  if (!value) return value.error();
  if (!value->is_object()) return Error{ErrorCode::kCorrupt, "not an object of results by id"};
  ChangeResults results;
  std::optional<Error> fault;
  for (const auto& [id, one] : value->get_object())
    readResult(one, std::string(id), &results, &fault);
  if (fault) return *fault;
  return results;
}

}  // namespace divvy::kube
