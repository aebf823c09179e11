#include <algorithm>
#include <set>
#include <sstream>

#include "facts/readers.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

constexpr const char* kVendor = "0x10de";  // NVIDIA's PCI vendor ID
constexpr std::size_t kMaxDirs = 64;       // of the loader

std::string lineOf(const Result<std::string>& text) {
  return text ? text->substr(0, text->find_first_of("\r\n")) : "";
}

// Displays and accelerators. Other functions of a card (sound, USB, bridges) are not devices.
bool isCard(const std::string& klass) {
  return klass.starts_with("0x03") || klass.starts_with("0x12");
}

std::vector<PciCard> cardsIn(const RootFs& tree) {
  const std::string dir = "/sys/bus/pci/devices";
  std::vector<PciCard> cards;
  const auto names = tree.list(dir);
  if (!names) return cards;
  for (const std::string& name : *names) {
    const std::string device = dir + "/" + name;
    if (lineOf(tree.text(device + "/vendor")) != kVendor) continue;
    if (!isCard(lineOf(tree.text(device + "/class")))) continue;
    const Result<std::string> driver = tree.resolved(device + "/driver");
    cards.push_back({name, driver ? driver->substr(driver->rfind('/') + 1) : ""});
  }
  return cards;
}

// The loader's configured directories, including drop-ins, and its default ones.
std::vector<std::string> loaderDirs(const RootFs& tree) {
  std::vector<std::string> dirs = {
      "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
      "/lib/x86_64-linux-gnu",     "/lib/aarch64-linux-gnu",     "/lib64",     "/usr/lib/wsl/lib",
      "/usr/local/nvidia/lib64",   "/usr/local/nvidia/lib"};
  for (const char* lib : {"x86_64-linux-gnu", "aarch64-linux-gnu"})
    dirs.push_back(std::string("/run/nvidia/driver/usr/lib/") + lib);
  dirs.emplace_back("/run/nvidia/driver/usr/lib64");
  std::vector<std::string> files = {"/etc/ld.so.conf"};
  if (const auto names = tree.list("/etc/ld.so.conf.d"))
    for (const std::string& name : *names)
      if (name.ends_with(".conf")) files.push_back("/etc/ld.so.conf.d/" + name);
  for (const std::string& file : files) {
    const Result<std::string> text = tree.text(file);
    if (!text) continue;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line) && dirs.size() < kMaxDirs;)
      if (line.starts_with('/')) dirs.push_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
  }
  return dirs;
}

// "libcuda.so.535.54.03" is of version 535.54.03; "libcuda.so.1" has no version.
std::string versionOfName(const std::string& path) {
  const std::size_t at = path.rfind(".so.");
  const std::string version = at == std::string::npos ? "" : path.substr(at + 4);
  return versionIn(version) == version ? version : "";
}

std::vector<DriverLibrary> librariesIn(const RootFs& tree) {
  std::vector<DriverLibrary> found;
  std::set<std::string> files;
  for (const std::string& dir : loaderDirs(tree)) {
    for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"}) {
      const std::string path = dir + "/" + name;
      const Result<PathInfo> place = tree.infoOf(path);
      if (!place || place->kind != PathInfo::Kind::kFile) continue;
      const Result<std::string> file = tree.resolved(path);
      // A file that is found by two paths (/lib is /usr/lib) counts once.
      if (!file || !files.insert(*file).second) continue;
      found.push_back({path, std::string(name) == "libcuda.so.1", versionOfName(*file)});
    }
  }
  return found;
}

}  // namespace

DriverFacts readDriver(const RootFs& tree) {
  DriverFacts facts;
  facts.cards = cardsIn(tree);
  facts.version = tree.text("/proc/driver/nvidia/version");
  if (const auto names = tree.list("/dev"))
    for (const std::string& name : *names)
      if (name.starts_with("nvidia") && name.find("caps") == std::string::npos)
        facts.nodes.push_back(name);
  facts.libraries = librariesIn(tree);
  facts.wsl = tree.infoOf("/dev/dxg").has_value();
  return facts;
}

}  // namespace divvy::doctor
