// Errors for words that the grammar rejects: one line of our own with the accepted values. Private
// to the grammar.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace divvy::cli {

// Returns the innermost subcommand that was given; adds the path to it to `names`.
const CLI::App* innermost(const CLI::App& app, std::string* names = nullptr);

// Returns a kUsage error: one line, and where help is.
Error usageError(const CLI::App& app, const std::string& what);

// Checks that the first word that is no option is a subcommand. Empty: it is one, or there is none.
std::string unknownCommand(const CLI::App& app, const std::vector<std::string>& words);

// Describes words that `command` has no place for. `plugin`: called as kubectl's plugin.
std::string unexpectedWords(const CLI::App& command, bool plugin);

// Describes an option or positional with too few, too many, or wrong values.
std::string wrongValue(const CLI::App& command, const CLI::ParseError& error);

// Returns the option with an empty value; empty: none. "--cores $CORES" with an unset CORES is a
// mistake, not a request for the default.
std::string emptyOption(const CLI::App& command);

}  // namespace divvy::cli
