// Finds secrets in a text, by the words before them or by their form.
#include <algorithm>
#include <array>
#include <cctype>

#include "doctor/redact.h"

namespace divvy::doctor {
namespace {

constexpr std::string_view kGone = "(left out)";
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kSpaces = " \t\r\n";
// A name that ends with one of these precedes a secret: "AWS_SECRET_ACCESS_KEY".
constexpr std::array<std::string_view, 17> kWords{
    "password",   "passwd",     "passphrase", "secret",      "token",      "apikey",
    "api_key",    "api-key",    "accesskey",  "access_key",  "access-key", "secretkey",
    "secret_key", "secret-key", "privatekey", "private_key", "private-key"};

// From a position on: the number of characters to keep, then of those to remove. None to remove: no
// secret.
struct SecretSpan {
  std::size_t stays = 0;
  std::size_t goes = 0;
};

bool isTokenChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
         c == '+' || c == '/' || c == '=' || c == '~';
}

bool isFolded(std::string_view text, std::size_t at, std::string_view word) {
  if (text.size() - at < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[at + i])) != word[i]) return false;
  return true;
}

std::size_t endBefore(std::string_view text, std::size_t at, std::string_view any) {
  return std::min(text.find_first_of(any, at), text.size());
}
std::size_t endOf(std::string_view text, std::size_t at, std::string_view any) {
  return std::min(text.find_first_not_of(any, at), text.size());
}

// The text from `start` to `end`, unless it was redacted already.
SecretSpan found(std::string_view text, std::size_t at, std::size_t start, std::size_t end) {
  if (text.substr(start).starts_with(kGone)) return {};
  return {start - at, end - start};
}

// A JSON header in base64 ("eyJ") and two dots: a token of a service account. `dull`: no token
// begins before this position, so that no text is read repeatedly.
SecretSpan webTokenAt(std::string_view text, std::size_t at, std::size_t* dull) {
  if (at < *dull || text.substr(at, 3) != "eyJ") return {};
  std::size_t end = at;
  while (end < text.size() && isTokenChar(text[end])) ++end;
  const std::string_view token = text.substr(at, end - at);
  const std::size_t dot = token.find('.');
  const bool dots = dot != token.npos && token.find('.', dot + 1) != token.npos;
  if (dots && token.size() >= 24) return {0, token.size()};
  *dull = end;
  return {};
}

// From "-----BEGIN" to the end of its block, or to the end of a truncated text.
SecretSpan pemAt(std::string_view text, std::size_t at) {
  if (text.substr(at, 11) != "-----BEGIN ") return {};
  const std::size_t end = text.find("-----END ", at);
  const std::size_t close = end == text.npos ? end : text.find("-----", end + 9);
  return {0, (close == text.npos ? text.size() : close + 5) - at};
}

// "://user:password@".
SecretSpan userAt(std::string_view text, std::size_t at) {
  if (text.substr(at, 3) != "://") return {};
  const std::size_t start = at + 3;
  const std::string_view host =
      text.substr(start, endBefore(text, start, "/?#\"'<> \t\r\n") - start);
  const std::size_t end = host.rfind('@');
  if (end == host.npos) return {};
  return {3, end};
}

// The length of a quote with the backslashes before it, as in a document that is embedded in
// another one.
std::size_t quoteSize(std::string_view text, std::size_t at) {
  const std::size_t quote = endOf(text, at, "\\");
  if (quote == text.size() || (text[quote] != '"' && text[quote] != '\'')) return 0;
  return quote + 1 - at;
}

// The end of the text that `open` began; the end of the whole text if it was truncated. A quote
// with more backslashes is part of it, and so is a doubled quote ('it''s').
std::size_t quotedEnd(std::string_view text, std::size_t at, std::string_view open) {
  const std::size_t slashes = open.size() - 1;
  std::size_t run = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++run;
      continue;
    }
    if (text[at] == open.back() && run % (2 * open.size()) == slashes) {
      if (open != "'" || text.substr(at, 2) != "''") return at - slashes;
      ++at;
    }
    run = 0;
  }
  return at;
}

// The value after a word and ':' or '='. Word and value may be quoted and have blanks around them,
// as in YAML and JSON.
struct SecretValue {
  std::size_t start = 0;  // 0: no value
  bool quoted_word = false;
  std::string_view open;  // the quote before it
};

SecretValue valueAfter(std::string_view text, std::size_t at) {
  SecretValue value;
  const std::size_t quote = quoteSize(text, at);
  value.quoted_word = quote > 0;
  at = endOf(text, at + quote, kBlanks);
  if (at == text.size() || (text[at] != ':' && text[at] != '=')) return value;
  ++at;
  if (at < text.size() && (text[at] == '=' || text[at] == '>')) ++at;
  at = endOf(text, at, kBlanks);
  value.open = text.substr(at, quoteSize(text, at));
  value.start = at + value.open.size();
  return value;
}

SecretSpan afterWord(std::string_view text, std::size_t at) {
  for (const std::string_view word : kWords) {
    if (!isFolded(text, at, word)) continue;
    const SecretValue value = valueAfter(text, at + word.size());
    if (value.start == 0) continue;
    if (!value.open.empty())
      return found(text, at, value.start, quotedEnd(text, value.start, value.open));
    // In JSON an unquoted value ends where its member does.
    const std::size_t end =
        endBefore(text, value.start, value.quoted_word ? " \t\r\n,}]" : kSpaces);
    return found(text, at, value.start, end);
  }
  return {};
}

// The token after "Bearer" or a similar scheme.
SecretSpan afterScheme(std::string_view text, std::size_t at, std::size_t scheme) {
  std::size_t start = endOf(text, scheme, kBlanks);
  if (start == scheme) return {};
  start += quoteSize(text, start);
  return found(text, at, start, endBefore(text, start, " \t\r\n\"'\\"));
}

// An HTTP header: the value of an unknown scheme may be anything, up to the end of the line.
SecretSpan afterHeader(std::string_view text, std::size_t at) {
  constexpr std::string_view kHeader = "authorization";
  if (!isFolded(text, at, kHeader)) return {};
  const SecretValue value = valueAfter(text, at + kHeader.size());
  if (value.start == 0) return {};
  if (!value.open.empty())
    return found(text, at, value.start, quotedEnd(text, value.start, value.open));
  for (const std::string_view scheme : {"bearer", "basic"}) {
    const std::size_t end = value.start + scheme.size();
    if (isFolded(text, value.start, scheme) && endOf(text, end, kBlanks) > end)
      return afterScheme(text, at, end);
  }
  return found(text, at, value.start, endBefore(text, value.start, "\r\n"));
}

SecretSpan secretAt(std::string_view text, std::size_t at, std::size_t* dull) {
  SecretSpan one = pemAt(text, at);
  if (one.goes == 0) one = webTokenAt(text, at, dull);
  if (one.goes == 0) one = userAt(text, at);
  if (one.goes == 0) one = afterWord(text, at);
  if (one.goes == 0) one = afterHeader(text, at);
  if (one.goes == 0 && isFolded(text, at, "bearer")) one = afterScheme(text, at, at + 6);
  return one;
}

}  // namespace

std::string withoutSecrets(std::string_view text) {
  std::string out;
  std::size_t dull = 0;
  for (std::size_t at = 0; at < text.size();) {
    const SecretSpan one = secretAt(text, at, &dull);
    if (one.goes == 0) {
      out += text[at++];
      continue;
    }
    out += text.substr(at, one.stays);
    out += kGone;
    at += one.stays + one.goes;
  }
  return out;
}

std::string withoutSecret(std::string_view key, std::string_view text) {
  for (const std::string_view word : kWords)
    if (key.size() >= word.size() && isFolded(key, key.size() - word.size(), word) && !text.empty())
      return std::string(kGone);
  return withoutSecrets(text);
}

}  // namespace divvy::doctor
