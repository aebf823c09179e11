#include "kube/access.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "client/access_parts.h"

namespace divvy::kube {

Result<std::string> contentOf(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const bool opened = file.is_open();
  std::string text;
  char part[4096];
  while (file.read(part, sizeof part), file.gcount() > 0)
    text.append(part, static_cast<std::size_t>(file.gcount()));
  // A directory can be opened, but not read.
  if (!opened || file.bad())
    return Error{ErrorCode::kIo, "reading " + path + ": " + std::strerror(errno)};
  return text;
}

namespace {

// No blank, no line end, and none of `others`, because the text becomes part of a request line.
bool isPlain(std::string_view text, std::string_view others) {
  return std::none_of(text.begin(), text.end(), [&](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || others.find(c) != others.npos;
  });
}

bool isPort(std::string_view text) {
  constexpr std::size_t kMaxDigits = 5;
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == text.npos;
}

// Reads "HOST", "HOST:PORT" or "[ADDRESS]:PORT". Returns false for other texts.
bool takeHost(std::string_view text, Access* access) {
  access->port = access->tls ? "443" : "80";
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == text.npos) return false;
  access->host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  text.remove_prefix(std::min(bracketed ? end + 1 : end, text.size()));
  if (!text.empty() && text.front() != ':') return false;
  if (!text.empty()) access->port = text.substr(1);
  return !access->host.empty() && isPlain(access->host, "[]@?#\\") && isPort(access->port);
}

}  // namespace

Result<void> takeServer(const std::string& url, Access* access) {
  const Error wrong(ErrorCode::kUsage,
                    '"' + url + "\" is not a server: expected https://HOST[:PORT][/PATH]");
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos || !isPlain(url, "")) return wrong;
  const std::string kind = url.substr(0, scheme);
  if (kind != "https" && kind != "http") return wrong;
  access->tls = kind == "https";
  std::string rest = url.substr(scheme + 3);
  const std::size_t path = rest.find('/');
  if (path != std::string::npos) {
    access->base = rest.substr(path);
    rest.erase(path);
    while (!access->base.empty() && access->base.back() == '/') access->base.pop_back();
  }
  if (!takeHost(rest, access)) return wrong;
  return {};
}

namespace {

// The text becomes one line of a request and must not begin another.
bool isLine(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Result<void> checkLines(const Access& access) {
  const auto check = [](const std::string& text, const char* what) -> Result<void> {
    if (isLine(text)) return {};
    return Error{ErrorCode::kUsage, std::string(what) + " has a byte that is not a letter"};
  };
  Result<void> good = check(access.token, "the token");
  if (good) good = check(access.as.user, "the user of --as");
  if (good) good = check(access.as.uid, "--as-uid");
  for (const std::string& group : access.as.groups)
    if (good) good = check(group, "a group of --as-group");
  return good;
}

Result<void> takeTrust(const AccessWords& words, Access* access) {
  if (!words.insecure && words.authority_file.empty()) return {};
  if (words.insecure && !words.authority_file.empty())
    return Error{ErrorCode::kUsage,
                 "--insecure-skip-tls-verify and --certificate-authority exclude each other; "
                 "accepted: one of them"};
  access->insecure = words.insecure;
  access->authority.clear();
  if (words.insecure) return {};
  Result<std::string> authority = contentOf(words.authority_file);
  if (!authority) return std::move(authority).error().context("--certificate-authority");
  access->authority = std::move(*authority);
  return {};
}

Result<void> takeCredentials(const AccessWords& words, Access* access) {
  if (words.certificate_file.empty() != words.key_file.empty())
    return Error{ErrorCode::kUsage,
                 "--client-certificate and --client-key belong together; accepted: both"};
  if (!words.token.empty()) {
    access->token = words.token;
    access->token_file.clear();
    access->exec.reset();
    // A server that accepts a client certificate ignores the token.
    access->certificate.clear();
    access->key.clear();
  }
  if (words.certificate_file.empty()) return {};
  Result<std::string> certificate = contentOf(words.certificate_file);
  if (!certificate) return std::move(certificate).error().context("--client-certificate");
  Result<std::string> key = contentOf(words.key_file);
  if (!key) return std::move(key).error().context("--client-key");
  access->certificate = std::move(*certificate);
  access->key = std::move(*key);
  return {};
}

}  // namespace

Result<void> applyWords(const AccessWords& words, Access* access) {
  if (!words.server.empty()) {
    access->base.clear();
    access->server_name.clear();
    const Result<void> server = takeServer(words.server, access);
    if (!server) return Error(server.error()).context("--server");
  }
  if (!words.server_name.empty()) access->server_name = words.server_name;
  Result<void> taken = takeTrust(words, access);
  if (taken) taken = takeCredentials(words, access);
  if (!taken) return taken;
  if (!words.as.user.empty()) access->as.user = words.as.user;
  if (!words.as.uid.empty()) access->as.uid = words.as.uid;
  if (!words.as.groups.empty()) access->as.groups = words.as.groups;
  if (access->as.user.empty() && (!access->as.uid.empty() || !access->as.groups.empty()))
    return Error{ErrorCode::kUsage, "--as-group and --as-uid require --as; accepted: with it"};
  return checkLines(*access);
}

Result<Access> clusterAccess(const std::string& host, const std::string& port,
                             const std::string& folder) {
  if (host.empty() || port.empty())
    return Error{
        ErrorCode::kNotFound,
        "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"};
  Access access;
  access.host = host;
  access.port = port;
  access.token_file = folder + "/token";
  Result<std::string> authority = contentOf(folder + "/ca.crt");
  if (!authority) return authority.error();
  access.authority = std::move(*authority);
  const Result<std::string> namespace_name = contentOf(folder + "/namespace");
  if (namespace_name && !namespace_name->empty()) access.namespace_name = *namespace_name;
  return access;
}

Result<Access> urlAccess(const std::string& url, const std::string& authority_file) {
  Access access;
  const Result<void> server = takeServer(url, &access);
  if (!server) return server.error();
  // A '/' at the end is meaningless in a server, but part of an address.
  if (url.back() == '/' && !access.base.empty()) access.base += '/';
  if (authority_file.empty()) return access;
  Result<std::string> authority = contentOf(authority_file);
  if (!authority) return authority.error();
  access.authority = std::move(*authority);
  return access;
}

}  // namespace divvy::kube
