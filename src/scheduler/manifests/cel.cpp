#include "manifests/cel.h"

#include "scheduler/manifests.h"

namespace divvy::scheduler {
namespace {

// A pod's container `c` asks for a device in `where`.
std::string celAsks(const vendors::Catalog& catalog, const std::string& where) {
  std::string text = "(has(c.resources." + where + ") && c.resources." + where +
                     ".exists(r, r in " + celList(resourceNames(catalog));
  for (const std::string& prefix : resourcePrefixes(catalog))
    text += " || r.startsWith('" + prefix + "')";
  return text + "))";
}

}  // namespace

std::string celList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + '\'';
  return '[' + list + ']';
}

std::string celAsksForDevices(const vendors::Catalog& catalog) {
  const std::string container = "has(c.resources) && (" + celAsks(catalog, "limits") + " || " +
                                celAsks(catalog, "requests") + ')';
  return "object.spec.containers.exists(c, " + container +
         ") || (has(object.spec.initContainers) && object.spec.initContainers.exists(c, " +
         container + "))";
}

}  // namespace divvy::scheduler
