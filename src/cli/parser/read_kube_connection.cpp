// Access to a cluster, from words.
#include <charconv>
#include <utility>

#include "options/raw_options.h"

namespace divvy::cli {
namespace {

// As in kubectl, 0 means no limit.
Result<std::optional<std::uint64_t>> readBound(const std::string& text) {
  if (text.empty()) return std::optional<std::uint64_t>{};
  if (text == "0" || text == "0s") return std::optional<std::uint64_t>{0};
  const Result<std::uint64_t> bound = parseDurationMs(text);
  if (!bound)
    return Error{ErrorCode::kUsage,
                 "--request-timeout: " + bound.error().message() + "; and 0, without end"};
  return std::optional<std::uint64_t>{*bound};
}

}  // namespace

bool hasConnectionOptions(const ConnectionText& text) {
  return text != ConnectionText{};
}

Result<ConnectionOptions> connectionOf(const ConnectionText& text) {
  ConnectionOptions connection;
  connection.kubeconfig = text.kubeconfig;
  kube::AccessWords& words = connection.words;
  words.context = text.context;
  words.cluster = text.cluster;
  words.user = text.user;
  words.server = text.server;
  words.server_name = text.server_name;
  words.authority_file = text.authority;
  words.insecure = text.insecure;
  words.token = text.token;
  words.certificate_file = text.certificate;
  words.key_file = text.key;
  words.as = {text.as, text.as_uid, text.as_groups};
  const Result<std::optional<std::uint64_t>> bound = readBound(text.timeout);
  if (!bound) return bound.error();
  connection.bound_ms = *bound;
  return connection;
}

}  // namespace divvy::cli
