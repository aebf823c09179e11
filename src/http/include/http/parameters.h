// Decoded names and values: of a query string, of a form, or captured from a path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::http {

inline constexpr std::size_t kMaxParameters = 128;

struct Parameter {
  std::string name, value;
};

// In the order of the input. Names are compared byte by byte and may repeat. Values are any bytes
// except NUL: they are no trusted text. A value type.
class Parameters {
 public:
  void add(std::string name, std::string value);
  // Returns the first value of that name, or null. Valid until the next change.
  const std::string* find(std::string_view name) const;
  // Returns all values of that name.
  std::vector<std::string> values(std::string_view name) const;
  const std::vector<Parameter>& all() const { return parameters_; }

 private:
  std::vector<Parameter> parameters_;
};

// Parses `a=1&b=2`, without the question mark: `+` is a space, `%41` is a byte. A part without `=`
// is a name with an empty value; an empty part is left out. Errors: kUsage for an escape without
// two hexadecimal digits, for `%00`, and for more than kMaxParameters.
Result<Parameters> parseParameters(std::string_view text);

}  // namespace divvy::http
