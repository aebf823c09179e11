// The Container Device Interface: a share that is kept under a name, as a file that runtimes read
// (`podman run --device divvy.dev/share=NAME`). Source: CDI specification 0.5.0, which podman 4.1
// and later understand.
#pragma once

#include <string>
#include <string_view>

#include "agent/container_edits.h"
#include "base/result.h"

namespace divvy::agent {

inline constexpr const char* kCdiKind = "divvy.dev/share";
inline constexpr const char* kPodCdiKind = "divvy.dev/pod";  // what a pod's container gets

// The text of a file with that one device. Pure.
std::string cdiSpec(const char* kind, const std::string& name, const ContainerEdits& edits);

// The control page that such a text mounts, of either kind; empty: it is none of ours. Pure.
std::string controlIn(std::string_view spec);

// Whether a device may be called so: beginning and ending with a letter or a digit. Of names that
// tenants may have. kUsage: not.
Result<void> checkCdiName(const std::string& name);

std::string cdiFileOf(const std::string& dir, const std::string& name);

// Writes `file` whole or not at all, for all to read, and its folder where it is missing. kUsage:
// what is there is somebody else's, or of a share that lives.
Result<void> writeCdi(const std::string& file, const std::string& name,
                      const ContainerEdits& edits);

// Likewise without asking whose it was: of a name that nobody else has.
Result<void> replaceCdi(const std::string& file, const std::string& text);

// Removes it where it is of that control page, and nothing else.
void removeCdi(const std::string& file, const std::string& control);

}  // namespace divvy::agent
