// What a pod says of its shares in our words: annotations use.divvy.dev/WORD, of all containers,
// and CONTAINER.use.divvy.dev/WORD, of one. Which words there are is said in
// share_options/share_options.h. Pure. Private.
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
  // kUsage: which annotation, what is wrong, what is accepted: a word or a container that is not
  // there, a value that is none. Values are read by whom they are for.
  static Result<ShareAnnotations> of(const kube::Pod& pod);

  // What is said of that container, or else of all; null: nothing.
  const std::string* find(std::string_view word, std::string_view container = {}) const;
  // Annotations of what agents read: what was decided, and is written with the binding.
  kube::Labels forAgents() const;
  // What placement reads of it, into the shape that was made of `pod`. kUsage: what contradicts.
  Result<void> apply(const kube::Pod& pod, engine::Shape* shape) const;

 private:
  struct ShareAnnotation {
    const share_options::ShareOption* term = nullptr;
    std::string container;  // empty: of all
    std::string value;
  };
  const std::string* exactly(std::string_view word, std::string_view container) const;
  Result<void> applyTo(const kube::PodContainer& from, engine::Container* to) const;
  Result<void> select(engine::Shape* shape) const;

  std::vector<ShareAnnotation> wishes_;
};

// How an annotation of one container is called; empty: of all.
std::string wishKey(std::string_view word, std::string_view container = {});

}  // namespace divvy::scheduler
