// Keeps the webhook's certificate: made, shared with the other replicas by a Secret, trusted by API
// servers, served, and made anew in time. Private.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "kube/client.h"
#include "scheduler/server.h"

namespace divvy::scheduler {

// For one thread, that of the client. What others write into Secret and registration is heard at
// once; a write that another replica was first with is none, and what that one wrote is taken.
class CertificateRotator {
 public:
  // Client and server outlive it. `say` gets lines for people: never anything of a key.
  CertificateRotator(kube::Client& client, http::Server& server, OwnCertificate options,
                     std::function<void(const std::string&)> logLine);
  ~CertificateRotator();

  // Until *stopped, and something happens.
  boost::asio::awaitable<void> run(const bool* stopped);
  bool serves() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace divvy::scheduler
