// Documents of YAML or JSON as JSON values, read as kubectl reads manifests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace divvy {

struct YamlDocument {
  boost::json::value value;  // null: nothing but comments
  std::size_t line = 1;      // where it begins
};

// Returns the documents of `text` in their order: YAML 1.1, with anchors and merge keys (`<<`), or
// JSON objects one after the other. A byte order mark and CRLF do not count. Of two equal keys the
// later counts, and keys of a map go before merged ones.
// Bounded: the content of an alias is counted again at each place. All content may be at most four
// times as long as the text, and 1 MiB. Depth is bounded, too, so that an alias of itself ends.
// Texts that are not UTF-8 are refused: JSON cannot have them.
// kUsage: "SOURCE:LINE: FAULT".
Result<std::vector<YamlDocument>> readYamlDocuments(std::string_view text,
                                                    const std::string& source);

}  // namespace divvy
