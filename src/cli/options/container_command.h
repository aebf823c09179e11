// `divvy run --podman
// --docker`: parses the words after that option, and builds the runtime's command line. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/container_edits.h"
#include "base/result.h"

namespace divvy::cli {

enum class Runtime : std::uint8_t { kPodman, kDocker };
// The runtime's program: "podman" or "docker".
const char* runtimeName(Runtime runtime);

// Parsed arguments of the runtime: [OPTIONS] IMAGE [COMMAND...].
struct ContainerArguments {
  Runtime runtime = Runtime::kPodman;
  std::vector<std::string> options;
  std::vector<std::string> rest;     // from the image on, not parsed
  std::string name;                  // --name; empty: the runtime chooses
  bool detached = false;             // the runtime returns while the container runs
  std::string library_path;          // LD_LIBRARY_PATH, as --env sets it
  std::vector<std::string> remarks;  // notes for the user, a line each
};

// kUsage: no image, or an option that is Divvy's or is misplaced. Also an option that would give
// the container a device outside its share, or hide the files that enforce the share.
Result<ContainerArguments> parseContainerWords(Runtime runtime,
                                               const std::vector<std::string>& words);

// Returns the runtime's command line for a container with these edits. They come last among the
// options, so that they take precedence.
std::vector<std::string> containerCommand(const ContainerArguments& words,
                                          const agent::ContainerEdits& edits);

// Returns whether the option takes no value: "--rm", "-it". `option` is as given, without "=...".
// Other options take the next word.
bool isFlag(std::string_view option);

}  // namespace divvy::cli
