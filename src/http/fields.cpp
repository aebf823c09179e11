#include "http/fields.h"

#include <algorithm>
#include <utility>

namespace divvy::http {
namespace {

char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool equalNames(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lowered(x) == lowered(y); });
}

void Fields::add(std::string name, std::string value) {
  fields_.push_back({std::move(name), std::move(value)});
}

void Fields::set(std::string name, std::string value) {
  std::erase_if(fields_, [&](const Field& field) { return equalNames(field.name, name); });
  add(std::move(name), std::move(value));
}

const std::string* Fields::find(std::string_view name) const {
  for (const Field& field : fields_)
    if (equalNames(field.name, name)) return &field.value;
  return nullptr;
}

}  // namespace divvy::http
