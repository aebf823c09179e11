// The made-up trace beside the tests, and the published one where this machine has it.
#pragma once

#include <optional>
#include <string>

namespace divvy::simulator {

// Throws where there is none.
std::string contentsOf(const std::string& path);
// tests/simulator/NAME.
std::string besideTests(const std::string& name);
// The folder "openb" as its README describes it: $DIVVY_OPENB, else shared/data/openb in the source
// folder or one above it. None: tests that need it are skipped.
std::optional<std::string> publishedTrace();

}  // namespace divvy::simulator
