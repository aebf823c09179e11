// Templates of manifests: YAML with placeholders for values. README.md describes their form. The
// files of templates/ are built into the program. Pure. Private.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace divvy::scheduler {

struct ManifestTemplate {
  const char* name;  // path in templates/: "policies/gates.yaml"
  const char* text;
};

// Values of placeholders. Names are without "@". A template uses each of them.
struct TemplateValues {
  std::map<std::string, std::string> values = {};
  std::map<std::string, std::vector<std::string>> lists = {};  // of blocks "@for NAME@"
};

// Returns the files of templates/, ascending by name. cmake/embed.cmake generates the definition.
const std::vector<ManifestTemplate>& manifestTemplates();

// Returns the text of `source` with `values` in the place of placeholders. Values are not searched
// for placeholders. kInternal, with template, line and placeholder: a placeholder has no value, a
// value has no placeholder, or a line has not the form of a template.
Result<std::string> renderTemplate(const ManifestTemplate& source, const TemplateValues& values);
// Renders the template `name` of manifestTemplates(). kInternal: as renderTemplate(), or there is
// no such template.
Result<std::string> renderManifest(std::string_view name, const TemplateValues& values);

}  // namespace divvy::scheduler
