// Host files that a container needs for real devices: libraries of the driver, device nodes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::agent {

struct DriverLibraries {
  std::map<std::string, std::string> libraries;  // by the name that programs open: the file
  std::vector<std::string> devices;              // below /dev
};

// Returns true if the file is a library of that driver version ("550.54.15") that compute programs
// need. `target`: its name after links are resolved. Pure.
bool isOfDriver(std::string_view name, std::string_view target, std::string_view version);

// Reads "Device Minor: 3" of a device's /proc/driver/nvidia/gpus/*/information; -1: not stated.
// Pure.
int minorIn(std::string_view information);

// The name of the device's directory there, from its PCI address in NVML's form. Pure.
std::string procNameOf(std::string_view pci);

// Finds the files of the driver that the NVML library at `nvml` belongs to (links are resolved),
// and the device nodes of these PCI addresses. `root`: prefix of all paths, for tests.
// kUnavailable: a file is missing; the message names it.
Result<DriverLibraries> findDriverFiles(const std::string& nvml,
                                        const std::vector<std::string>& pci,
                                        const std::string& root = "");

}  // namespace divvy::agent
