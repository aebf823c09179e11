#include "built_in_text.h"
#include "vendors/descriptor.h"

namespace divvy::vendors {

// A test checks that all of them parse.
const std::vector<Descriptor>& builtIn() {
  static const std::vector<Descriptor> all = [] {
    std::vector<Descriptor> read;
    for (const BuiltInText& text : builtInTexts())
      read.push_back(std::move(parseDescriptor(text.yaml, text.source)).value());
    return read;
  }();
  return all;
}

}  // namespace divvy::vendors
