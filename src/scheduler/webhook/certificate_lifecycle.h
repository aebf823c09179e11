// The webhook's certificates: issuing, checking and the schedule of renewal. Pure but for the
// random numbers of keys. Private.
//
// An authority signs one certificate, and its key is discarded then: no stored key can sign another
// certificate. So each certificate has its own authority, and API servers trust the old and the new
// one while both are in use.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::scheduler {

using Clock = std::chrono::sys_time<std::chrono::milliseconds>;

// How long before its issue a certificate is valid, because clocks differ.
inline constexpr std::chrono::hours kClockSkew{1};

struct CertificateKeyPair {
  std::string certificate, key;  // PEM
  friend bool operator==(const CertificateKeyPair&, const CertificateKeyPair&) = default;
};

struct Validity {
  Clock from{}, until{};
};

// A usable certificate, as the Secret holds it.
struct StoredCertificate {
  CertificateKeyPair pair;
  std::vector<std::string> authorities;  // PEM, one each; the pair's own is the first
  Validity validity;
};

// Issues a certificate with a new authority. `names`: host names or addresses. kUsage: which name
// is not accepted.
Result<StoredCertificate> issue(const std::vector<std::string>& names, Clock now,
                                std::chrono::seconds life);

// Returns the readable certificates of a PEM text that have not expired, each once, as PEM.
std::vector<std::string> authoritiesIn(const std::string& text, Clock now);

// Checks a certificate against its authorities (PEM) and names. kCorrupt: it cannot be read, or the
// key does not match; kUsage: it is not valid now, not signed by one of `authorities`, or lacks one
// of `names`. Error messages contain nothing of the key.
Result<StoredCertificate> inspect(const CertificateKeyPair& pair, const std::string& authorities,
                                  const std::vector<std::string>& names, Clock now);

// Returns when the next certificate is issued: after two thirds of the life of this one.
Clock rotationOf(const Validity& validity);
// Returns from when on authorities of earlier certificates are not needed, because all replicas
// have had time to serve this one.
Clock retirementOf(const Validity& validity);
// Returns the pause between trusting the authority and serving the certificate. API servers observe
// changes late.
std::chrono::milliseconds settlingOf(const Validity& validity);

// The state, as far as it has been observed.
struct CertificateView {
  bool secret_known = false, registration_known = false;
  std::optional<StoredCertificate> kept;  // in the Secret; none: no Secret, or an unusable one
  // Authorities that API servers trust, by webhook of the registration; none: no registration.
  std::optional<std::vector<std::vector<std::string>>> trusted;
  std::optional<Clock> trusted_since;  // when isTrusted() became true; none: it is not
  std::optional<StoredCertificate> served;
};

enum class CertificateStep : std::uint8_t {
  kWait,
  kIssue,        // write a new certificate into the Secret, with the authorities of the old one
  kTrust,        // add the authorities of the Secret and the served one's to the registration
  kServe,        // serve the certificate of the Secret
  kForgetOld,    // remove earlier authorities from the Secret
  kDistrustOld,  // remove earlier authorities from the registration
};

// Returns the next step. The served certificate is trusted at any time, whichever replica writes:
// its authority is trusted before it is served, and until long after.
CertificateStep nextStep(const CertificateView& view, Clock now);

// Returns the authorities to trust for one webhook: the needed ones, then others in `already`.
std::vector<std::string> trustOf(const CertificateView& view,
                                 const std::vector<std::string>& already);
// Returns true if all webhooks trust the authorities of the kept and the served certificate.
bool isTrusted(const CertificateView& view);

}  // namespace divvy::scheduler
