// Header fields of a request or an answer.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace divvy::http {

struct Field {
  std::string name, value;
};

// Fields in the order in which they were added. Names are compared without regard to case (ASCII).
// A value type. It checks nothing: the server refuses to send a field that is not valid (Answer).
class Fields {
 public:
  Fields() = default;
  Fields(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value);
  // Replaces all fields of that name by this one.
  void set(std::string name, std::string value);
  // Returns the value of the first field of that name, or null. Valid until the next change.
  const std::string* find(std::string_view name) const;
  const std::vector<Field>& all() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

// Compares without regard to the case of ASCII letters.
bool equalNames(std::string_view a, std::string_view b);

}  // namespace divvy::http
