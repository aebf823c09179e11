// What goes to others without the names of who works here, and never with a secret.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <boost/json/value.hpp>

namespace divvy::doctor {

// Without what looks like a key or a token, whoever put it there: PEM blocks, JSON web tokens, the
// user and password of a URL, what follows "Bearer" and "Authorization:", and what "password",
// "secret", "token", "api_key", "access_key" and the like are said to be, by ':' or '=': within its
// quotes, or else up to a blank. Of a block of YAML ("password: |") the lines below stay.
std::string withoutSecrets(std::string_view text);
// Of the text of a member: all of it where its key is such a word, or ends with one.
std::string withoutSecret(std::string_view key, std::string_view text);

// Numbers in place of names, the same for the same name, in all texts that it is given: also where
// a name is a word of a sentence. Those that every cluster has (kube-system ...) stay.
class Names {
 public:
  // `kind`: "pod", "node" ...; a name has the number of its first kind.
  void know(const std::string& kind, const std::string& name);
  // At each place the longest name that is known. The work grows with the text, not with how many
  // names are known; `lookups`, if not null, is what it came to.
  std::string replaced(std::string_view text, std::size_t* lookups = nullptr) const;

 private:
  // Found by parts of texts, without a copy of them.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> known_;
  // Hashes of beginnings of names that go on after a word: "node" of "node.example.com".
  std::unordered_set<std::size_t> begun_;
  std::unordered_map<std::string, std::size_t> counts_;
};

// All texts of a document, withoutSecret and, with `names`, replaced. Keys of objects stay.
boost::json::value redacted(const boost::json::value& value, const Names* names);

}  // namespace divvy::doctor
