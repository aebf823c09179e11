// register.sock: tenants' processes register the slots that they claimed.
#pragma once

#include <string>

#include "base/rate_limit.h"
#include "tenant/tenant_manager.h"
#include "tenant_registration/registration_receiver.h"

namespace divvy::agent {

class Registrar {
 public:
  using AcceptFrom = RegistrationReceiver::AcceptFrom;

  Registrar(asio::io_context& loop, TenantManager& tenants)
      : tenants_(tenants),
        receiver_(loop, [this](const Registration& one) { return answerTo(one); }) {}

  // See RegistrationReceiver::listen().
  Result<void> listen(const std::string& path, AcceptFrom hears) {
    hears_ = hears;
    return receiver_.listen(path, hears);
  }
  // Call once a second.
  void poll() { receiver_.poll(); }
  RegistrationReceiver::Counts counts() const { return receiver_.counts(); }

 private:
  ledger::RegisterStatus answerTo(const Registration& registration);

  TenantManager& tenants_;
  AcceptFrom hears_ = AcceptFrom::kOwn;
  RateLimit of_tenant_{{50, 200}};
  RegistrationReceiver receiver_;
};

}  // namespace divvy::agent
