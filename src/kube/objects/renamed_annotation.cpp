#include "kube/renamed_annotation.h"

#include <stdexcept>

#include "public_names/public_names.h"

namespace divvy::kube {

std::string oldKeyOf(const std::string& key) {
  const std::string_view old = public_names::oldAnnotationKey(key);
  if (old.empty()) throw std::logic_error(key + " was not renamed");
  return std::string(old);
}

const std::string* findRenamed(const Labels& annotations, const std::string& key) {
  const auto old = annotations.find(std::string(public_names::oldAnnotationKey(key)));
  if (old != annotations.end() && !old->second.empty()) return &old->second;
  const auto present = annotations.find(key);
  if (present != annotations.end()) return &present->second;
  return old == annotations.end() ? nullptr : &old->second;
}

}  // namespace divvy::kube
