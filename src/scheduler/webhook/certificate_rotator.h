// The certificate rotator: issues the webhook's certificate, serves it and renews it in time. A
// Secret shares it with the other replicas, and the registration makes API servers trust it.
// Private.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "kube/client.h"
#include "scheduler/server.h"

namespace divvy::scheduler {

// For the client's thread only. It watches the Secret and the registration. If another replica
// writes first, this replica's write fails, and it takes the other replica's certificate.
class CertificateRotator {
 public:
  // `client` and `server` outlive it. Lines of the log never contain parts of a key.
  CertificateRotator(kube::Client& client, http::Server& server, OwnCertificate options);
  ~CertificateRotator();

  // Runs until *stopped is true, which it checks after each step or pause.
  boost::asio::awaitable<void> run(const bool* stopped);
  // Returns true once the webhook has a certificate.
  bool serves() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace divvy::scheduler
