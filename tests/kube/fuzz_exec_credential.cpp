// Any bytes as what a credential plugin prints. Of its times a strict reader of RFC 3339 finds the
// same.
#include <chrono>
#include <optional>
#include <string>

#include <boost/json.hpp>

#include "base/rfc3339.h"
#include "client/exec_credential.h"
#include "fuzz_input.h"

using namespace divvy;
using namespace divvy::kube;
namespace json = boost::json;

namespace {

constexpr const char* kVersions[] = {"client.authentication.k8s.io/v1",
                                     "client.authentication.k8s.io/v1beta1"};

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (i >= text.size() || text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// Seconds behind UTC of "Z" or "+hh:mm".
std::optional<std::chrono::seconds> zoneOf(std::string_view text) {
  if (text == "Z") return std::chrono::seconds(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const std::optional<int> hours = digits(text, 1, 2), minutes = digits(text, 4, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::chrono::minutes offset(*hours * 60 + *minutes);
  return text[0] == '-' ? offset : -offset;
}

std::optional<std::chrono::sys_seconds> strictTime(std::string_view text) {
  using namespace std::chrono;
  const std::optional<int> parts[] = {digits(text, 0, 4),  digits(text, 5, 2),
                                      digits(text, 8, 2),  digits(text, 11, 2),
                                      digits(text, 14, 2), digits(text, 17, 2)};
  for (const std::optional<int>& part : parts)
    if (!part) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  std::size_t end = 19;
  if (end < text.size() && text[end] == '.') {
    const std::size_t first = ++end;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end == first) return std::nullopt;
  }
  const std::optional<seconds> zone = zoneOf(text.substr(end));
  const year_month_day day{year(*parts[0]), month(static_cast<unsigned>(*parts[1])),
                           std::chrono::day(static_cast<unsigned>(*parts[2]))};
  if (!zone || !day.ok() || *parts[3] > 23 || *parts[4] > 59 || *parts[5] > 60) return std::nullopt;
  return sys_days(day) + hours(*parts[3]) + minutes(*parts[4]) + seconds(*parts[5]) + *zone;
}

void checkCredential(const std::string& text, const Credential& credential) {
  need(!credential.token.empty() || !credential.certificate.empty(), "a credential");
  need(credential.certificate.empty() == credential.key.empty(), "a certificate and its key");
  const json::value whole = json::parse(text);
  const json::object& status = whole.at("status").as_object();
  const json::value* token = status.if_contains("token");
  const bool same = token != nullptr && token->is_string() &&
                    std::string_view(token->get_string()) == credential.token;
  need(same || credential.token.empty(), "the token");
  const json::value* until = status.if_contains("expirationTimestamp");
  const bool says = until != nullptr && until->is_string() && !until->get_string().empty();
  need(credential.until.has_value() == says, "until when");
  if (says) need(credential.until == strictTime(until->get_string()), "the instant");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(textOf(data, size));
  const std::optional<Rfc3339Instant> at = parseRfc3339(text, Rfc3339Form::kAnyOffset);
  const std::optional<std::chrono::sys_seconds> strict = strictTime(text);
  need(at.has_value() == strict.has_value(), "a time");
  need(!at || std::chrono::floor<std::chrono::seconds>(*at) == *strict, "an instant");
  unsigned accepted = 0;
  for (const char* version : kVersions) {
    const Result<Credential> credential = credentialIn(text, version);
    if (credential) {
      ++accepted;
      checkCredential(text, *credential);
    } else {
      need(credential.error().code() == ErrorCode::kCorrupt, "the kind of error");
      need(!credential.error().message().empty(), "an error without a reason");
    }
  }
  need(accepted <= 1, "one version only");
  return 0;
}
