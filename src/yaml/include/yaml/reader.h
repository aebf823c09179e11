// A document of YAML, read key by key: the first thing that is wrong is kept, with its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/bytes.h"
#include "base/result.h"

namespace divvy {

// After the first error nothing more is read, and the caller must discard all values.
class YamlReader {
 public:
  explicit YamlReader(std::string source) : source_(std::move(source)) {}

  const std::optional<Error>& error() const { return error_; }
  // "SOURCE:LINE:COLUMN: `what`".
  void fail(const YAML::Node& at, const std::string& what);

  // None where it cannot be read.
  std::optional<YAML::Node> parse(const std::string& text);

  // True: it is a map, and has these keys at most.
  bool map(const YAML::Node& node, std::initializer_list<std::string_view> keys);
  // Each leaves `out` as it is where the key is absent.
  void text(const YAML::Node& map, const char* key, std::string* out);
  void number(const YAML::Node& map, const char* key, std::uint64_t least, std::uint64_t most,
              std::uint64_t* out);
  void number(const YAML::Node& map, const char* key, std::uint32_t least, std::uint32_t most,
              std::uint32_t* out);
  void decimal(const YAML::Node& map, const char* key, double least, double most, double* out);
  void bytes(const YAML::Node& map, const char* key, Bytes* out);
  // Which of `words`, as their place; leaves `out` where the key is absent.
  void word(const YAML::Node& map, const char* key, std::initializer_list<std::string_view> words,
            std::size_t* out);
  void flag(const YAML::Node& map, const char* key, bool* out);
  // Calls each(item) for the items of the list under the key.
  void list(const YAML::Node& map, const char* key,
            const std::function<void(const YAML::Node&)>& each);
  // As number, decimal and bytes, of an item of a list.
  double decimalOf(const YAML::Node& item, double least, double most);
  std::uint64_t numberOf(const YAML::Node& item, std::uint64_t least, std::uint64_t most);
  Bytes bytesOf(const YAML::Node& item);
  // The map under a key; none where it is absent or no map with these keys.
  std::optional<YAML::Node> child(const YAML::Node& map, const char* key,
                                  std::initializer_list<std::string_view> keys);
  // The key has to be there.
  void require(const YAML::Node& map, const char* key);

 private:
  std::optional<std::string> scalar(const YAML::Node& node, const char* wanted);

  std::string source_;
  std::optional<Error> error_;
};

}  // namespace divvy
