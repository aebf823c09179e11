#include "webhook/certificate_lifecycle.h"

#include <algorithm>

namespace divvy::scheduler {
namespace {

using std::chrono::milliseconds;

bool has(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// From when it was made; of those that others made without our skew, the whole.
milliseconds lifeOf(const Validity& validity) {
  const milliseconds whole = validity.until - validity.from;
  return whole > kClockSkew ? whole - kClockSkew : whole;
}

Clock issuedOf(const Validity& validity) {
  return validity.until - lifeOf(validity);
}

// Authorities of the served certificate and of the next one, which must be trusted.
std::vector<std::string> needed(const CertificateView& view) {
  std::vector<std::string> list;
  if (view.kept) list = view.kept->authorities;
  if (view.served && !has(list, view.served->authorities.front()))
    list.push_back(view.served->authorities.front());
  return list;
}

}  // namespace

Clock rotationOf(const Validity& validity) {
  return validity.until - lifeOf(validity) / 3;
}

Clock retirementOf(const Validity& validity) {
  const milliseconds life = lifeOf(validity);
  return issuedOf(validity) + std::min<milliseconds>(std::chrono::hours(1), life / 4);
}

milliseconds settlingOf(const Validity& validity) {
  return std::min<milliseconds>(std::chrono::seconds(30), lifeOf(validity) / 12);
}

std::vector<std::string> trustOf(const CertificateView& view,
                                 const std::vector<std::string>& already) {
  std::vector<std::string> list = needed(view);
  for (const std::string& one : already)
    if (!has(list, one)) list.push_back(one);
  return list;
}

bool isTrusted(const CertificateView& view) {
  if (!view.kept || !view.trusted) return false;
  for (const std::vector<std::string>& webhook : *view.trusted)
    for (const std::string& authority : needed(view))
      if (!has(webhook, authority)) return false;
  return true;
}

CertificateStep nextStep(const CertificateView& view, Clock now) {
  if (!view.secret_known || !view.registration_known) return CertificateStep::kWait;
  if (!view.kept || now >= rotationOf(view.kept->validity)) return CertificateStep::kIssue;
  if (view.trusted && !isTrusted(view)) return CertificateStep::kTrust;
  const StoredCertificate& kept = *view.kept;
  if (!view.served || view.served->pair != kept.pair) {
    // During a change, API servers that do not know the new authority yet may call this replica.
    const bool others = kept.authorities.size() > 1;
    const bool useless =
        view.served ? now >= view.served->validity.until
                    : !others || now - issuedOf(kept.validity) >= settlingOf(kept.validity);
    const bool settled = !view.trusted || (view.trusted_since &&
                                           now - *view.trusted_since >= settlingOf(kept.validity));
    return useless || settled ? CertificateStep::kServe : CertificateStep::kWait;
  }
  if (now < retirementOf(kept.validity)) return CertificateStep::kWait;
  if (kept.authorities.size() > 1) return CertificateStep::kForgetOld;
  const auto more = [&](const std::vector<std::string>& webhook) {
    return webhook != kept.authorities;
  };
  if (view.trusted && std::any_of(view.trusted->begin(), view.trusted->end(), more))
    return CertificateStep::kDistrustOld;
  return CertificateStep::kWait;
}

}  // namespace divvy::scheduler
