#include "checks/certificate.h"

#include <ctime>
#include <memory>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace divvy::doctor {
namespace {

// A webhook has two authorities while one replaces the other.
constexpr std::size_t kMax = 64;

bool secondsOf(const ASN1_TIME* time, std::int64_t* out) {
  std::tm utc{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &utc) != 1) return false;
  *out = ::timegm(&utc);
  return true;
}

}  // namespace

Result<std::vector<Validity>> validitiesOf(const std::string& pem) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  std::vector<Validity> all;
  while (all.size() < kMax) {
    const std::unique_ptr<X509, void (*)(X509*)> one(
        PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
    if (!one) break;
    Validity validity;
    if (!secondsOf(X509_get0_notBefore(one.get()), &validity.from) ||
        !secondsOf(X509_get0_notAfter(one.get()), &validity.until))
      return Error{ErrorCode::kCorrupt, "the validity period of a certificate cannot be read"};
    all.push_back(validity);
  }
  // The input ends where no certificate begins; any other error means that it is not a certificate.
  const unsigned long last = ERR_peek_last_error();
  ERR_clear_error();
  const bool end = ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (all.empty() || (!end && all.size() < kMax))
    return Error{ErrorCode::kCorrupt, "it is not a list of certificates"};
  return all;
}

}  // namespace divvy::doctor
