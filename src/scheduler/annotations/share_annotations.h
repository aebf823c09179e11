// Share annotations: use.divvy.dev/WORD for all containers of a pod, CONTAINER.use.divvy.dev/WORD
// for a single container. share_options/share_options.h lists the words. Pure. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "kube/pod.h"
#include "share_options/share_options.h"

namespace divvy::scheduler {

class ShareAnnotations {
 public:
  // Reads and checks the share annotations of a pod. kUsage: the message names annotation, fault
  // (unknown word or container, value that is not accepted) and accepted values.
  static Result<ShareAnnotations> of(const kube::Pod& pod);

  // Returns the value for the container, or else for all containers; null: there is none.
  const std::string* find(std::string_view word, std::string_view container = {}) const;
  // Returns the annotations that agents read, to be written with the binding.
  kube::Labels forAgents() const;
  // Applies the annotations that placement uses to `shape`, the shape of `pod`. kUsage: which
  // annotations contradict the request or each other.
  Result<void> apply(const kube::Pod& pod, engine::Shape* shape) const;

 private:
  struct ShareAnnotation {
    const share_options::ShareOption* term = nullptr;
    std::string container;  // empty: all
    std::string value;
  };
  const std::string* exactly(std::string_view word, std::string_view container) const;
  Result<void> applyTo(const kube::PodContainer& from, engine::Container* to) const;
  Result<void> select(engine::Shape* shape) const;

  std::vector<ShareAnnotation> wishes_;
};

// Returns the key of an annotation. `container`: empty: for all containers.
std::string wishKey(std::string_view word, std::string_view container = {});

}  // namespace divvy::scheduler
