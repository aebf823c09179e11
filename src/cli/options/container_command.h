// `divvy run --podman|--docker`: the words behind that option, and the command line made of them.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/container_edits.h"
#include "base/result.h"

namespace divvy::cli {

enum class Runtime : std::uint8_t { kPodman, kDocker };
// "podman", "docker": the program.
const char* runtimeName(Runtime runtime);

// What is said to the runtime, taken apart: [OPTIONS] IMAGE [COMMAND...].
struct ContainerWords {
  Runtime runtime = Runtime::kPodman;
  std::vector<std::string> options;
  std::vector<std::string> rest;     // from the image on: never looked at
  std::string name;                  // --name; empty: the runtime makes one
  bool detached = false;             // the runtime returns while the container runs
  std::string library_path;          // LD_LIBRARY_PATH, as --env sets it
  std::vector<std::string> remarks;  // what the user should know, a line each
};

// kUsage: no image; what is Divvy's to say, or stands behind where that is said; what would give
// the container a card of which it has no share, or hide what holds it to its own.
Result<ContainerWords> parseContainerWords(Runtime runtime, const std::vector<std::string>& words);

// The runtime's command line for a container with these edits. Ours come last of the options, so
// that they win.
std::vector<std::string> containerCommand(const ContainerWords& words,
                                          const agent::ContainerEdits& edits);

// Whether the option takes no value of its own: "--rm", "-it"; `option`: as it was written,
// without "=...". Others take the next word.
bool isFlag(std::string_view option);

}  // namespace divvy::cli
