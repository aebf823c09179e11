// Checks of the driver: present, complete, and of one version.
#include <algorithm>
#include <set>

#include "checks/check_lists.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

bool noDriver(const DriverFacts& driver) {
  return driver.cards.empty() && isAbsent(driver.version) && driver.libraries.empty() &&
         !driver.wsl;
}

constexpr const char* kNothing = "no NVIDIA GPU and no NVIDIA driver: only simulated cards";

std::string addresses(const std::vector<PciCard>& cards) {
  std::vector<std::string> words;
  for (const PciCard& one : cards) words.push_back(one.address);
  return joined(words);
}

void checkLoaded(const NodeFacts& facts, FindingBuilder& sink) {
  const DriverFacts& driver = facts.driver;
  if (noDriver(driver)) return sink.skip(kNothing);
  if (driver.wsl) return sink.ok("/dev/dxg: the driver is the Windows host's");
  if (driver.version) {
    const std::string version = versionIn(*driver.version);
    if (version.empty())
      return sink.warn({"/proc/driver/nvidia/version contains no version: " + *driver.version,
                        "its version cannot be compared with the libraries'", ""});
    return sink.ok("version " + version + ", " + counted(driver.cards.size(), "device"));
  }
  if (!isAbsent(driver.version)) return sink.skip(driver.version.error().message());
  std::vector<PciCard> without = driver.cards;
  // Cards that are passed to virtual machines cannot be shared here.
  std::erase_if(without, [](const PciCard& one) { return one.driver == "vfio-pci"; });
  if (driver.cards.empty())
    return sink.warn({"driver libraries, but no GPU and no kernel module",
                      "no GPU can be used here", "nothing, if there is no GPU"});
  if (without.empty())
    return sink.ok("all GPUs (" + addresses(driver.cards) + ") are bound to vfio-pci");
  const std::string other = without.front().driver;
  sink.fault({"the kernel module is not loaded; " + addresses(without) +
                  (other.empty() ? " has no driver" : " is bound to " + other),
              "no program can use the GPU, with or without Divvy",
              "install NVIDIA's driver, then: modprobe nvidia"});
}

void checkLibraries(const NodeFacts& facts, FindingBuilder& sink) {
  const DriverFacts& driver = facts.driver;
  if (noDriver(driver)) return sink.skip(kNothing);
  std::vector<std::string> found;
  bool cuda = false, nvml = false;
  for (const DriverLibrary& one : driver.libraries) {
    found.push_back(one.path + (one.version.empty() ? "" : " (" + one.version + ")"));
    (one.cuda ? cuda : nvml) = true;
  }
  if (cuda && nvml) return sink.ok(joined(found));
  if (!driver.version && !driver.wsl && found.empty()) return sink.skip("no driver is loaded");
  const std::string missing = !cuda && !nvml ? "libcuda.so.1 and libnvidia-ml.so.1 are"
                              : cuda         ? "libnvidia-ml.so.1 is"
                                             : "libcuda.so.1 is";
  sink.fault({missing + " in none of the loader's directories" +
                  (found.empty() ? "" : "; found: " + joined(found)),
              cuda ? "agents cannot see the GPUs" : "programs cannot use the GPUs",
              "install the driver's libraries (Debian: libcuda1, libnvidia-ml1), then: ldconfig"});
}

void checkVersions(const NodeFacts& facts, FindingBuilder& sink) {
  const DriverFacts& driver = facts.driver;
  if (noDriver(driver)) return sink.skip(kNothing);
  const std::string loaded = driver.version ? versionIn(*driver.version) : "";
  std::set<std::string> versions;
  std::vector<std::string> off;
  for (const DriverLibrary& one : driver.libraries) {
    if (one.version.empty()) continue;
    versions.insert(one.version);
    if (!loaded.empty() && one.version != loaded) off.push_back(one.path + " is " + one.version);
  }
  if (versions.empty()) return sink.skip("no library name contains a version");
  if (!off.empty())
    return sink.fault({"the kernel module is " + loaded + ", " + joined(off),
                       "calls of a library of another version than the module fail "
                       "(\"Driver/library version mismatch\")",
                       "restart the machine, or unload and load the nvidia modules"});
  if (versions.size() > 1)
    return sink.warn({"libraries of " + joined({versions.begin(), versions.end()}),
                      "a program loads one of them by its search path", "remove the old ones"});
  if (loaded.empty())
    return sink.ok("libraries of " + *versions.begin() + "; no module to compare");
  sink.ok("module and libraries are " + loaded);
}

void checkDevices(const NodeFacts& facts, FindingBuilder& sink) {
  const DriverFacts& driver = facts.driver;
  if (noDriver(driver)) return sink.skip(kNothing);
  if (driver.wsl) return sink.ok("/dev/dxg");
  if (!driver.version) return sink.skip("no driver is loaded");
  const auto has = [&](const std::string& name) {
    return std::find(driver.nodes.begin(), driver.nodes.end(), name) != driver.nodes.end();
  };
  std::vector<std::string> missing;
  for (const char* name : {"nvidiactl", "nvidia0", "nvidia-uvm"})
    if (!has(name)) missing.push_back(std::string("/dev/") + name);
  if (missing.empty()) return sink.ok(counted(driver.nodes.size(), "device file"));
  const bool only_uvm = missing.size() == 1 && missing.front() == "/dev/nvidia-uvm";
  Problem trouble{
      joined(missing) + (missing.size() == 1 ? " is" : " are") + " missing",
      only_uvm ? "CUDA cannot start until it is created (the first program run by root creates it)"
               : "the driver cannot be reached",
      "nvidia-modprobe -u -c 0"};
  if (only_uvm) return sink.warn(std::move(trouble));
  sink.fault(std::move(trouble));
}

}  // namespace

NodeEntries driverChecks() {
  return {
      {"driver-loaded", "is the driver loaded if there is a GPU", checkLoaded},
      {"driver-libraries", "are libcuda and libnvidia-ml where the loader looks", checkLibraries},
      {"driver-versions", "are the driver's module and libraries of one version", checkVersions},
      {"driver-devices", "do the driver's device files exist", checkDevices}};
}

}  // namespace divvy::doctor
