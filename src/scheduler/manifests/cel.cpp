#include "manifests/cel.h"

#include "scheduler/manifests.h"

namespace divvy::scheduler {

std::string celList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + '\'';
  return '[' + list + ']';
}

std::string celIsDevice(const vendors::Catalog& catalog) {
  std::string text = "r in " + celList(resourceNames(catalog));
  for (const std::string& prefix : resourcePrefixes(catalog))
    text += " || r.startsWith('" + prefix + "')";
  return text;
}

}  // namespace divvy::scheduler
