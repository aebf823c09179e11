// Removes secrets from texts, and if asked names of users and objects, before they leave the
// machine.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <boost/json/value.hpp>

namespace divvy::doctor {

// Removes probable keys and tokens: PEM blocks, JSON web tokens, user and password of a URL, and
// the text after "Bearer" and "Authorization:". It also removes values after ':' or '=' of words
// such as "password", "secret", "token", "api_key" and "access_key": the quoted text, or else up to
// a blank. The lines below a YAML block header ("password: |") stay.
std::string withoutSecrets(std::string_view text);
// Returns the text of a member without secrets; nothing of it if its key is or ends with such a
// word.
std::string withoutSecret(std::string_view key, std::string_view text);

// Replaces names by numbers, also within sentences. A name gets the same number in all texts. Names
// that every cluster has (kube-system ...) stay.
class NameRedactor {
 public:
  // Adds a name of a kind: "pod", "node" ... A name keeps the number of its first kind.
  void know(const std::string& kind, const std::string& name);
  // Replaces known names, the longest one at each place. The time grows with the text, not with the
  // number of names. `lookups`, if not null, gets the number of lookups.
  std::string replaced(std::string_view text, std::size_t* lookups = nullptr) const;

 private:
  // Finds parts of texts without a copy.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> known_;
  // Hashes of the first words of names that continue after them: "node" of "node.example.com".
  std::unordered_set<std::size_t> begun_;
  std::unordered_map<std::string, std::size_t> counts_;
};

// Returns a document with withoutSecret() applied to all texts, and names replaced if `names` is
// not null. Keys of objects stay.
boost::json::value redacted(const boost::json::value& value, const NameRedactor* names);

}  // namespace divvy::doctor
