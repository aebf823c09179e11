// What a container needs of the host to use real cards: files of the driver, nodes of devices.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::agent {

struct DriverLibraries {
  std::map<std::string, std::string> libraries;  // by the name that programs look for: the file
  std::vector<std::string> devices;              // of /dev
};

// Whether a file called so is a library of the driver of that version ("550.54.15") that programs
// which compute need; `target`: what it is called when links are followed. Pure.
bool isOfDriver(std::string_view name, std::string_view target, std::string_view version);

// "Device Minor: 3" of a card's /proc/driver/nvidia/gpus/*/information; -1: it does not say. Pure.
int minorIn(std::string_view information);

// The folder of that card there, by its PCI address as NVML has it. Pure.
std::string procNameOf(std::string_view pci);

// Of the driver whose NVML library lies at `nvml` (links are followed), for the cards at these PCI
// addresses. `root`: what stands for /, in tests. kUnavailable: what of it is not there.
Result<DriverLibraries> findDriverFiles(const std::string& nvml,
                                        const std::vector<std::string>& pci,
                                        const std::string& root = "");

}  // namespace divvy::agent
