// What is wrong with words that the grammar does not take: one line, in our own words, with what
// is accepted. Private to the grammar.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace divvy::cli {

// The innermost subcommand that was named; `names`: those on the way there are added to it.
const CLI::App* innermost(const CLI::App& app, std::string* names = nullptr);

// One line, and where to read on. kUsage.
Error usageError(const CLI::App& app, const std::string& what);

// The first word that is no option has to be a subcommand. Empty: it is one, or there is none.
std::string unknownCommand(const CLI::App& app, const std::vector<std::string>& words);

// Of words that `command` has no place for. `plugin`: it was called as kubectl's.
std::string unexpectedWords(const CLI::App& command, bool plugin);

// Of an option, or a word in its place, that has too few values, too many, or one that it does not
// take.
std::string wrongValue(const CLI::App& command, const CLI::ParseError& error);

// Which option was given an empty value; none: empty. "--cores $CORES" with nothing in CORES is a
// mistake, not a wish for the default.
std::string emptyOption(const CLI::App& command);

}  // namespace divvy::cli
