// The control of what follows: a device plugin that binds as the incumbent's does. Allocate says
// nothing of pods, so that it takes whichever pod was bound first and still wants as many devices.
// Source: facts on the incumbent's control plane, 4, and its issue 3096.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "assigned_pod.h"

namespace divvy::test {

class CallOrderPlugin {
 public:
  // Registers with the kubelet whose folder that is; its units are of these cards.
  CallOrderPlugin(const std::string& kubelet_root, const std::vector<std::string>& cards,
                  unsigned each);
  ~CallOrderPlugin();

  // The scheduler has bound it.
  void bound(const AssignedPod& pod);

 private:
  class Plugin;
  std::unique_ptr<Plugin> plugin_;
};

}  // namespace divvy::test
