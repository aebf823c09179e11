// The Container Device Interface: a kept share as a file that runtimes read (`podman run --device
// divvy.dev/share=NAME`). Source: CDI specification 0.5.0, supported by podman 4.1 and later.
#pragma once

#include <string>
#include <string_view>

#include "agent/container_edits.h"
#include "base/result.h"

namespace divvy::agent {

inline constexpr const char* kCdiKind = "divvy.dev/share";
inline constexpr const char* kPodCdiKind = "divvy.dev/pod";  // edits of a pod's container

// The text of a spec with that one device. Pure.
std::string cdiSpec(const char* kind, const std::string& name, const ContainerEdits& edits);

// The control page that such a text mounts, of either kind; empty: not a spec of ours. Pure.
std::string controlIn(std::string_view spec);

// kUsage: the name is valid for a tenant but not for a CDI device. That must begin and end with a
// letter or a digit.
Result<void> checkCdiName(const std::string& name);

std::string cdiFileOf(const std::string& dir, const std::string& name);

// Writes `file` atomically, readable for all, and creates its directory if missing. kUsage: another
// program owns the file, or its share lives.
Result<void> writeCdi(const std::string& file, const std::string& name,
                      const ContainerEdits& edits);

// Does the same without a check of the owner: for names that no other program uses.
Result<void> replaceCdi(const std::string& file, const std::string& text);

// Removes the file if it is of that control page; otherwise does nothing.
void removeCdi(const std::string& file, const std::string& control);

}  // namespace divvy::agent
