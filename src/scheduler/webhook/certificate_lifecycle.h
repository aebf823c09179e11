// The webhook's certificates: making them, looking at them, and when it is time for what. Pure but
// for the chance that keys are made of. Private.
//
// An authority signs one certificate and its key is thrown away with that: nothing is kept anywhere
// by which another could be signed. So each certificate comes with an authority of its own, and
// those who trust us trust the old and the new one for as long as both are in use.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace divvy::scheduler {

using Clock = std::chrono::sys_time<std::chrono::milliseconds>;

// Certificates are valid from so long before they were made: clocks differ.
inline constexpr std::chrono::hours kClockSkew{1};

struct CertificateKeyPair {
  std::string certificate, key;  // PEM
  friend bool operator==(const CertificateKeyPair&, const CertificateKeyPair&) = default;
};

struct Validity {
  Clock from{}, until{};
};

// What is kept in the Secret, and good.
struct StoredCertificate {
  CertificateKeyPair pair;
  std::vector<std::string> authorities;  // PEM, one each; the pair's own is the first
  Validity validity;
};

// `names`: of hosts, or addresses. kUsage: which one cannot be a name.
Result<StoredCertificate> issue(const std::vector<std::string>& names, Clock now,
                                std::chrono::seconds life);

// Each certificate of a PEM text that can be read and has not ended, as PEM, once.
std::vector<std::string> authoritiesIn(const std::string& text, Clock now);

// kCorrupt: it cannot be read, or the key is another's; kUsage: it is not valid now, not signed by
// one of those authorities, or not for one of the names. What is said holds nothing of the key.
Result<StoredCertificate> inspect(const CertificateKeyPair& pair, const std::string& authorities,
                                  const std::vector<std::string>& names, Clock now);

// When the next one is made: after two thirds of its life.
Clock rotationOf(const Validity& validity);
// From when on the authorities before it are not needed: everybody has had the time to go over.
Clock retirementOf(const Validity& validity);
// From the authority's being trusted to the certificate's being served: API servers hear of changes
// late.
std::chrono::milliseconds settlingOf(const Validity& validity);

// What there is, as far as it has been seen.
struct CertificateView {
  bool secret_known = false, registration_known = false;
  std::optional<StoredCertificate> kept;  // none: there is no Secret, or none that can be used
  // What API servers trust, by webhook of the registration; none: it is not registered.
  std::optional<std::vector<std::vector<std::string>>> trusted;
  std::optional<Clock> trusted_since;  // all of kept's authorities, by all webhooks
  std::optional<StoredCertificate> served;
};

enum class CertificateStep : std::uint8_t {
  kWait,
  kIssue,        // a new one into the Secret, with the authorities of the old one
  kTrust,        // the Secret's and the served one's authorities into the registration
  kServe,        // what is in the Secret
  kForgetOld,    // the authorities before, in the Secret
  kDistrustOld,  // and in the registration
};

// At any time what is served is trusted, whoever writes what: a new authority is trusted before its
// certificate is served, and an old one until long after.
CertificateStep nextStep(const CertificateView& view, Clock now);

// What to trust, of what is trusted by one webhook already.
std::vector<std::string> trustOf(const CertificateView& view,
                                 const std::vector<std::string>& already);
bool isTrusted(const CertificateView& view);

}  // namespace divvy::scheduler
