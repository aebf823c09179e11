#include "scheduler/resource_catalog.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace divvy::scheduler {

Result<vendors::Catalog> readCatalog(const std::vector<vendors::Descriptor>& devices,
                                     const std::vector<std::string>& vendors,
                                     const std::string& model_resources) {
  Result<std::vector<vendors::Descriptor>> ours =
      vendors::only(devices.empty() ? vendors::builtIn() : devices, vendors);
  if (!ours) return ours.error();
  if (!model_resources.empty()) {
    std::ifstream file(model_resources);
    std::ostringstream text;
    if (file) text << file.rdbuf();
    if (!file)
      return Error{ErrorCode::kIo, "reading " + model_resources + ": " + std::strerror(errno)};
    const Result<void> added = vendors::addModelResources(text.str(), model_resources, &*ours);
    if (!added) return added.error();
  }
  return vendors::Catalog::of(std::move(*ours));
}

}  // namespace divvy::scheduler
