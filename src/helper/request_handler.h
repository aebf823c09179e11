// What the helper answers.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "helper/server.h"
#include "wire.h"

namespace divvy::helper {

// Whether a name may be one of ours among the kubelet's sockets: "divvy-....sock".
bool isSocketName(std::string_view name);
// Likewise among a runtime's devices: "divvy.dev-pod-....json".
bool isSpecName(std::string_view name);

// Any thread; who asks about a device waits for the driver.
class RequestHandler {
 public:
  explicit RequestHandler(const ServerOptions& terms) : terms_(terms) {}

  // `asker`: whose connection it is.
  Result<Answer> answer(const Question& question, int asker);

 private:
  Result<Answer> hello(int asker) const;
  Result<Answer> lendAll() const;
  Result<Answer> ofSockets(const Ask& ask);
  Result<Answer> ofDevice(const Ask& ask);
  Result<unsigned> indexOf(const std::string& uuid);
  Result<Answer> writeSpec(const std::string& name, const Fd& from) const;
  Result<Answer> removeSpec(const std::string& name) const;

  const ServerOptions& terms_;
  std::mutex driver_mutex_;  // of the two below
  std::optional<driver::Nvml> driver_;
  std::map<std::string, unsigned> indexes_;  // by UUID
};

}  // namespace divvy::helper
