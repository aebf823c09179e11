#include "api/proxy_viewer.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace divvy::console {
namespace {

constexpr std::string_view kUserField = "X-Forwarded-User";
constexpr std::string_view kGroupsField = "X-Forwarded-Groups";
constexpr std::string_view kReserved = "system:";
constexpr std::string_view kBlanks = " \t";

Error refused(std::string message) {
  return {ErrorCode::kUsage, std::move(message)};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

bool isName(std::string_view text) {
  return text.size() <= kMaxViewerName && isUtf8(text) &&
         std::none_of(text.begin(), text.end(), [](char one) {
           return static_cast<unsigned char>(one) < ' ' || one == 0x7f;
         });
}

// Returns the value of the only field of that name, or an empty text.
Result<std::string_view> onlyField(const http::Query& query, std::string_view name) {
  std::string_view value;
  bool found = false;
  for (const http::Field& field : query.fields.all()) {
    if (!http::equalNames(field.name, name)) continue;
    if (found)
      return refused("the request has more than one field " + std::string(name) +
                     "; the proxy has to replace the fields that its clients send");
    found = true;
    value = trimmed(field.value);
  }
  return value;
}

// `name` is valid UTF-8.
Result<void> checkReserved(std::string_view name) {
  if (!name.starts_with(kReserved)) return {};
  return refused("the proxy names \"" + std::string(name) +
                 "\"; names that begin with \"system:\" are of Kubernetes itself, so no proxy may "
                 "give them to a viewer");
}

Result<std::string> userOf(const http::Query& query) {
  const Result<std::string_view> user = onlyField(query, kUserField);
  if (!user) return user.error();
  if (user->empty())
    return refused("the proxy in front of this console has not signed a viewer in: field " +
                   std::string(kUserField) + " is missing; sign in at the proxy");
  if (!isName(*user) || user->find(',') != std::string_view::npos)
    return refused("field " + std::string(kUserField) + " is not accepted; up to " +
                   std::to_string(kMaxViewerName) +
                   " bytes of UTF-8 without commas and control characters are");
  const Result<void> free = checkReserved(*user);
  if (!free) return free.error();
  return std::string(*user);
}

Result<std::vector<std::string>> groupsOf(const http::Query& query) {
  const Result<std::string_view> field = onlyField(query, kGroupsField);
  if (!field) return field.error();
  std::set<std::string> groups;
  for (std::size_t at = 0; at <= field->size();) {
    const std::size_t end = std::min(field->find(',', at), field->size());
    const std::string_view group = trimmed(field->substr(at, end - at));
    at = end + 1;
    if (group.empty()) continue;
    if (!isName(group))
      return refused("field " + std::string(kGroupsField) + " is not accepted; groups of up to " +
                     std::to_string(kMaxViewerName) +
                     " bytes of UTF-8 without control characters are, with commas");
    const Result<void> free = checkReserved(group);
    if (!free) return free.error();
    groups.emplace(group);
    if (groups.size() > kMaxViewerGroups)
      return refused("field " + std::string(kGroupsField) + " has too many groups; up to " +
                     std::to_string(kMaxViewerGroups) +
                     " are accepted: have the proxy pass on those of this console only");
  }
  return std::vector<std::string>(groups.begin(), groups.end());
}

}  // namespace

Result<Viewer> viewerNamedBy(const http::TrustedProxies& proxies, const http::Query& query) {
  if (!proxies.contains(query.peer))
    return refused(
        "this console believes its proxy only (--trust-headers-from), and the request "
        "comes from " +
        query.peer + "; open the console through the proxy");
  Result<std::string> user = userOf(query);
  if (!user) return user.error();
  Result<std::vector<std::string>> groups = groupsOf(query);
  if (!groups) return groups.error();
  Viewer viewer;
  viewer.user = std::move(*user);
  viewer.groups = std::move(*groups);
  return viewer;
}

}  // namespace divvy::console
