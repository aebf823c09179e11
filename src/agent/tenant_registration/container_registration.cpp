#include "tenant_registration/container_registration.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/folder_mode.h"
#include "container/tenant_edits.h"

namespace divvy::agent {
namespace {

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

}  // namespace

Result<void> ContainerRegistration::open() {
  if (open_) return {};
  Result<void> good = layOut();
  if (good && node_.simulated()) good = openCards();
  if (good) good = registrar_.listen(paths_.containersRegistrar(), Registrar::AcceptFrom::kAll);
  open_ = good.has_value();
  return good;
}

Result<ContainerEdits> ContainerRegistration::editsOf(const Tenant& tenant) const {
  ContainerEdits edits =
      editsFor({tenant.dir, tenant.memory.swap().has_value()}, node_, paths_, install_);
  if (node_.simulated()) return edits;
  std::vector<std::string> pci;
  for (const Device& device : inventory_.devices())
    for (const ShareRecord& share : tenant.record.shares)
      if (share.uuid == device.info.uuid) pci.push_back(device.info.pci);
  const Result<DriverLibraries> driver = findDriverFiles(inventory_.driver().path(), pci);
  if (!driver) return driver.error();
  addDriver(*driver, &edits);
  return edits;
}

// The files are mounted into containers, which may run as any user.
Result<void> ContainerRegistration::layOut() {
  if (const Result<std::string> libraries = install_.preload(); !libraries)
    return libraries.error();
  const std::string dir = paths_.containersDir();
  const mode_t mode = modeIn(paths_.dir(), 0755);
  if (mkdir(dir.c_str(), mode) != 0 && errno != EEXIST) return ioError("creating " + dir);
  if (!allow(dir, mode)) return ioError("opening " + dir + " to containers");
  const std::string fresh = paths_.preloadList() + ".new";
  std::ofstream file(fresh, std::ios::trunc);
  file << preloadListInside();
  file.close();
  // Containers that mounted the old file keep it.
  if (!file || !allow(fresh, modeIn(paths_.dir(), 0644)) ||
      rename(fresh.c_str(), paths_.preloadList().c_str()) != 0)
    return ioError("writing " + paths_.preloadList());
  return {};
}

// As nodes of real devices are. The directory above restricts access.
Result<void> ContainerRegistration::openCards() {
  const std::string dir = paths_.cards();
  if (!allow(dir, 0777)) return ioError("opening " + dir + " to containers");
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator(dir, fault)) {
    // Temporary files may have been removed meanwhile.
    if (!allow(entry.path(), 0666) && errno != ENOENT)
      return ioError("opening " + entry.path().string() + " to containers");
  }
  return {};
}

}  // namespace divvy::agent
