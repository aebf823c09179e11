// Values of one option, and the name of their source for errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::cli {

struct OptionValue {
  std::vector<std::string> values;
  std::string source;  // "--overcommit", "DIVVY_OVERCOMMIT"

  Error wrong(const Error& error) const { return Error(error).context(source); }
};

// Return values of an option of `divvy agent` from the command line, or else from its variable in
// the environment (daemon_options). `option`: without dashes, one that has a variable.
OptionValue agentOptionValue(std::vector<std::string> given, std::string_view option);
OptionValue agentOptionValue(const std::string& given, std::string_view option);

template <typename Parse>
Result<void> readEach(const OptionValue& option, Parse parse) {
  for (const std::string& value : option.values) {
    const Result<void> good = parse(value);
    if (!good) return option.wrong(good.error());
  }
  return {};
}

template <typename Parse, typename Target>
Result<void> readOne(const OptionValue& option, Parse parse, Target& target) {
  return readEach(option, [&](const std::string& value) -> Result<void> {
    auto parsed = parse(value);
    if (!parsed) return parsed.error();
    target = *parsed;
    return {};
  });
}

}  // namespace divvy::cli
