// A certificate and its key, for servers of tests.
#pragma once

#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace divvy::http {

inline std::string textOf(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return {text, static_cast<std::size_t>(size)};
}

// PEM.
struct KeyPair {
  std::string certificate, key;
};

inline KeyPair keyPair() {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> it(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(it.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(it.get()), 3600);
  X509_set_pubkey(it.get(), key.get());
  X509_sign(it.get(), key.get(), EVP_sha256());
  const std::unique_ptr<BIO, int (*)(BIO*)> first(BIO_new(BIO_s_mem()), BIO_free);
  const std::unique_ptr<BIO, int (*)(BIO*)> second(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(first.get(), it.get());
  PEM_write_bio_PrivateKey(second.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {textOf(first.get()), textOf(second.get())};
}

}  // namespace divvy::http
