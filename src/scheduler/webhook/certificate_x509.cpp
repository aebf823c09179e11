// Making certificates and looking at them, with OpenSSL.
#include <algorithm>
#include <ctime>
#include <memory>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "webhook/certificate_lifecycle.h"

namespace divvy::scheduler {
namespace {

template <auto Free>
struct With {
  template <typename T>
  void operator()(T* it) const {
    Free(it);
  }
};
using Bio = std::unique_ptr<BIO, With<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, With<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, With<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, With<X509_EXTENSION_free>>;
using Store = std::unique_ptr<X509_STORE, With<X509_STORE_free>>;
using Check = std::unique_ptr<X509_STORE_CTX, With<X509_STORE_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, With<BN_free>>;
using Address = std::unique_ptr<ASN1_OCTET_STRING, With<ASN1_OCTET_STRING_free>>;

constexpr int kSerialBits = 127;
constexpr const char* kBegin = "-----BEGIN CERTIFICATE-----";
constexpr const char* kEnd = "-----END CERTIFICATE-----";

// An error with the library's reason, which holds no part of the library's input.
Error failed(const std::string& doing) {
  const char* reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return {ErrorCode::kInternal, doing + ": " + (reason == nullptr ? "it failed" : reason)};
}

std::int64_t secondsOf(Clock at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

Bio bioOf(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Certificate certificateOf(const std::string& pem) {
  const Bio bio = bioOf(pem);
  Certificate read(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return read;
}

std::string written(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pemOf(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return written(bio.get());
}

std::string pemOf(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return written(bio.get());
}

Clock clockOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return Clock(std::chrono::seconds(timegm(&parts)));
}

bool isAddress(const std::string& name) {
  const bool is = Address(a2i_IPADDRESS(name.c_str())) != nullptr;
  ERR_clear_error();
  return is;
}

bool isHost(const std::string& name) {
  return !name.empty() && name.size() <= 253 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.';
         });
}

Result<std::string> alternatives(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    const bool address = isAddress(name);
    if (!address && !isHost(name))
      return Error{
          ErrorCode::kUsage,
          '"' + name + "\" is not a certificate name; accepted: a host name or an address"};
    list += (list.empty() ? "" : ",") + std::string(address ? "IP:" : "DNS:") + name;
  }
  if (list.empty()) return Error{ErrorCode::kUsage, "a certificate is for one name at least"};
  return list;
}

struct Form {
  std::string subject;
  Clock from, until;
  std::vector<std::pair<int, std::string>> extensions;  // by their number: as configurations write
};

Result<Certificate> sign(const Form& form, EVP_PKEY* subject, X509* issuer, EVP_PKEY* by) {
  Certificate made(X509_new());
  const Number serial(BN_new());
  X509* it = made.get();
  if (it == nullptr || serial == nullptr || X509_set_version(it, X509_VERSION_3) != 1 ||
      BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(it)) == nullptr ||
      ASN1_TIME_set(X509_getm_notBefore(it), secondsOf(form.from)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(it), secondsOf(form.until)) == nullptr ||
      X509_NAME_add_entry_by_txt(X509_get_subject_name(it), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(form.subject.c_str()), -1,
                                 -1, 0) != 1 ||
      X509_set_issuer_name(it, X509_get_subject_name(issuer == nullptr ? it : issuer)) != 1 ||
      X509_set_pubkey(it, subject) != 1)
    return failed("making a certificate");
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer == nullptr ? it : issuer, it, nullptr, nullptr, 0);
  for (const auto& [number, value] : form.extensions) {
    const Extension one(X509V3_EXT_conf_nid(nullptr, &context, number, value.c_str()));
    if (one == nullptr || X509_add_ext(it, one.get(), -1) != 1)
      return failed(std::string("making a certificate, ") + OBJ_nid2sn(number));
  }
  if (X509_sign(it, by, EVP_sha256()) == 0) return failed("signing a certificate");
  return made;
}

Result<void> checkTrust(X509* certificate, const std::string& authorities, Clock now) {
  const Store store(X509_STORE_new());
  for (const std::string& pem : authoritiesIn(authorities, now)) {
    const Certificate one = certificateOf(pem);
    if (one != nullptr) X509_STORE_add_cert(store.get(), one.get());
  }
  const Check check(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(check.get(), store.get(), certificate, nullptr) != 1)
    return failed("checking a certificate");
  X509_VERIFY_PARAM* options = X509_STORE_CTX_get0_param(check.get());
  X509_VERIFY_PARAM_set_time(options, secondsOf(now));
  X509_VERIFY_PARAM_set_purpose(options, X509_PURPOSE_SSL_SERVER);
  if (X509_verify_cert(check.get()) == 1) return {};
  const int why = X509_STORE_CTX_get_error(check.get());
  ERR_clear_error();
  return Error{ErrorCode::kUsage, std::string("the certificate cannot be used: ") +
                                      X509_verify_cert_error_string(why)};
}

Result<void> checkNames(X509* certificate, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool good = isAddress(name)
                          ? X509_check_ip_asc(certificate, name.c_str(), 0) == 1
                          : X509_check_host(certificate, name.c_str(), 0, 0, nullptr) == 1;
    if (!good) return Error{ErrorCode::kUsage, "the certificate is not for " + name};
  }
  return {};
}

}  // namespace

Result<StoredCertificate> issue(const std::vector<std::string>& names, Clock now,
                                std::chrono::seconds life) {
  const Result<std::string> alternative = alternatives(names);
  if (!alternative) return alternative.error();
  const Key root(EVP_EC_gen("P-256"));
  const Key key(EVP_EC_gen("P-256"));
  if (root == nullptr || key == nullptr) return failed("making a key");
  const Validity validity{std::chrono::floor<std::chrono::seconds>(now) - kClockSkew,
                          std::chrono::floor<std::chrono::seconds>(now) + life};
  Form form{"divvy webhook authority " + std::to_string(secondsOf(now)),
            validity.from,
            validity.until,
            {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
             {NID_key_usage, "critical,keyCertSign"},
             {NID_subject_key_identifier, "hash"}}};
  const Result<Certificate> authority = sign(form, root.get(), nullptr, root.get());
  if (!authority) return authority.error();
  form.subject = "divvy webhook";
  form.extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                     {NID_key_usage, "critical,digitalSignature"},
                     {NID_ext_key_usage, "serverAuth"},
                     {NID_authority_key_identifier, "keyid"},
                     {NID_subject_alt_name, *alternative}};
  const Result<Certificate> made = sign(form, key.get(), authority->get(), root.get());
  if (!made) return made.error();
  return StoredCertificate{
      {pemOf(made->get()), pemOf(key.get())}, {pemOf(authority->get())}, validity};
}

std::vector<std::string> authoritiesIn(const std::string& text, Clock now) {
  std::vector<std::string> list;
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    const std::size_t end = text.find(kEnd, at);
    if (end == std::string::npos) break;
    const std::size_t size = end + std::string_view(kEnd).size() - at;
    const Certificate one = certificateOf(text.substr(at, size) + '\n');
    at += size;
    if (one == nullptr || clockOf(X509_get0_notAfter(one.get())) <= now) continue;
    const std::string pem = pemOf(one.get());
    if (std::find(list.begin(), list.end(), pem) == list.end()) list.push_back(pem);
  }
  return list;
}

Result<StoredCertificate> inspect(const CertificateKeyPair& pair, const std::string& authorities,
                                  const std::vector<std::string>& names, Clock now) {
  const Certificate certificate = certificateOf(pair.certificate);
  if (certificate == nullptr) return Error{ErrorCode::kCorrupt, "the certificate cannot be read"};
  const Bio bio = bioOf(pair.key);
  // Without a password: the library must not ask for one.
  const auto none = [](char*, int, int, void*) { return -1; };
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, none, nullptr));
  const bool match = key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (key == nullptr) return Error{ErrorCode::kCorrupt, "the key cannot be read"};
  if (!match) return Error{ErrorCode::kCorrupt, "the key is another certificate's"};
  const Result<void> trusted = checkTrust(certificate.get(), authorities, now);
  if (!trusted) return trusted.error();
  const Result<void> named = checkNames(certificate.get(), names);
  if (!named) return named.error();
  StoredCertificate kept{pair,
                         authoritiesIn(authorities, now),
                         {clockOf(X509_get0_notBefore(certificate.get())),
                          clockOf(X509_get0_notAfter(certificate.get()))}};
  // Its own first: alone it is enough.
  std::stable_partition(
      kept.authorities.begin(), kept.authorities.end(),
      [&](const std::string& one) { return checkTrust(certificate.get(), one, now).has_value(); });
  const Result<void> alone = checkTrust(certificate.get(), kept.authorities.front(), now);
  if (!alone) return alone.error();
  return kept;
}

}  // namespace divvy::scheduler
