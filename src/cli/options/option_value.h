// Values of one option, and the name of their source for errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::cli {

struct Told {
  std::vector<std::string> values;
  std::string where;

  Error wrong(const Error& error) const { return Error(error).context(where); }
};

// Returns values from the command line, or else from the environment.
Told told(std::vector<std::string> given, const char* option, const char* variable);
Told told(const std::string& given, const char* option, const char* variable);

template <typename Parse>
Result<void> readEach(const Told& told, Parse parse) {
  for (const std::string& value : told.values) {
    const Result<void> good = parse(value);
    if (!good) return told.wrong(good.error());
  }
  return {};
}

template <typename Parse, typename Target>
Result<void> readOne(const Told& told, Parse parse, Target& target) {
  return readEach(told, [&](const std::string& value) -> Result<void> {
    auto parsed = parse(value);
    if (!parsed) return parsed.error();
    target = *parsed;
    return {};
  });
}

}  // namespace divvy::cli
