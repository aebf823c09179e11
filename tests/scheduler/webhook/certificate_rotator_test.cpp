// The webhook's certificate, shared by a Secret at a fake API server.
#include "webhook/certificate_rotator.h"

#include "asio/rethrow.h"
#include "base/base64.h"
#include "controller_fixture.h"
#include "runtime/log.h"
#include "webhook/certificate_lifecycle.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr const char* kSecrets = "/api/v1/namespaces/divvy-system/secrets";
constexpr const char* kSecret = "/api/v1/namespaces/divvy-system/secrets/divvy-webhook";
constexpr const char* kRegistration =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/divvy";

Clock wallClock() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

// A replica: its webhook's server and its rotator.
struct Replica {
  Replica(boost::asio::io_context& loop, kube::Client& client, const bool* stopped)
      : server(std::move(*http::Server::start(loop.get_executor(), listen(), {}))),
        rotator(client, *server, {"divvy-system", "divvy-webhook", "divvy", {"localhost"}}) {
    boost::asio::co_spawn(loop, rotator.run(stopped), rethrow);
  }
  static http::Listen listen() {
    http::Listen listen;
    listen.certificate_comes = true;
    return listen;
  }

  std::unique_ptr<http::Server> server;
  CertificateRotator rotator;
};

class RotatorTest : public ControllerTest {
 protected:
  void SetUp() override {
    api.set(kRegistration,
            json::object{{"webhooks", json::array{json::object{
                                          {"name", "pods"}, {"clientConfig", json::object{}}}}}});
  }
  Replica& begin() {
    replicas.push_back(std::make_unique<Replica>(loop, *client, &stopped));
    return *replicas.back();
  }
  std::string inSecret(const char* key) const {
    const json::object* secret = api.find(kSecret);
    if (secret == nullptr) return "";
    const json::value* data = secret->if_contains("data");
    const json::value* text = data == nullptr ? nullptr : data->as_object().if_contains(key);
    return text == nullptr ? "" : fromBase64(std::string(text->as_string())).value_or("garbage");
  }
  std::string trusted() const {
    const json::object& config =
        api.find(kRegistration)->at("webhooks").at(0).at("clientConfig").as_object();
    const json::value* text = config.if_contains("caBundle");
    return text == nullptr ? "" : fromBase64(std::string(text->as_string())).value_or("garbage");
  }
  static json::object secretOf(const StoredCertificate& stored) {
    std::string authorities;
    for (const std::string& one : stored.authorities) authorities += one;
    return {{"data", json::object{{"tls.crt", toBase64(stored.pair.certificate)},
                                  {"tls.key", toBase64(stored.pair.key)},
                                  {"ca.crt", toBase64(authorities)}}}};
  }
  static StoredCertificate issued() {
    return *issue({"localhost"}, wallClock(), std::chrono::hours(24));
  }
  bool serves(const Replica& replica) {
    return until([&] { return replica.rotator.serves(); }, std::chrono::minutes(10));
  }
  std::size_t secretWrites() const {
    return api.count("POST", kSecrets) + api.count("PATCH", kSecret);
  }

  std::vector<std::unique_ptr<Replica>> replicas;
};

TEST_F(RotatorTest, NoSecret_CertificateIsIssuedTrustedServed) {
  const Replica& replica = begin();
  ASSERT_TRUE(serves(replica));
  EXPECT_NE(inSecret("tls.key"), "");
  EXPECT_EQ(trusted(), inSecret("ca.crt"));
  pass(seconds(60));
  EXPECT_EQ(secretWrites(), 1u);
  EXPECT_EQ(api.count("PATCH", kRegistration), 1u);
}

TEST_F(RotatorTest, StoredCertificate_IsServedWithoutAWrite) {
  const StoredCertificate stored = issued();
  api.set(kSecret, secretOf(stored));
  ASSERT_TRUE(serves(begin()));
  EXPECT_EQ(secretWrites(), 0u);
  EXPECT_EQ(trusted(), stored.authorities.front());
}

TEST_F(RotatorTest, OtherReplicaStoresFirst_ItsCertificateIsServed) {
  const StoredCertificate theirs = issued();
  api.inject(
      {.method = "POST", .path = kSecrets, .before = [&] { api.set(kSecret, secretOf(theirs)); }});
  ASSERT_TRUE(serves(begin()));
  EXPECT_EQ(inSecret("tls.crt"), theirs.pair.certificate);
  EXPECT_EQ(trusted(), theirs.authorities.front());
}

TEST_F(RotatorTest, TwoReplicas_ShareOneCertificate) {
  const Replica& first = begin();
  const Replica& second = begin();
  ASSERT_TRUE(serves(first));
  ASSERT_TRUE(serves(second));
  pass(seconds(60));
  std::size_t stored = 0;
  for (const test::FakeCall& call : api.calls("POST", kSecrets))
    if (call.changed) ++stored;
  EXPECT_EQ(stored, 1u);
  EXPECT_EQ(api.count("PATCH", kSecret), 0u);
  EXPECT_EQ(trusted(), inSecret("ca.crt"));
}

TEST_F(RotatorTest, AnswerLostAfterStoring_StoredOneIsServed) {
  api.inject({.method = "POST", .path = kSecrets, .kind = test::FaultKind::kAnswerLost});
  const Replica& replica = begin();
  ASSERT_TRUE(until([&] { return api.find(kSecret) != nullptr; }));
  const std::string stored = inSecret("tls.crt");
  ASSERT_TRUE(serves(replica));
  EXPECT_EQ(inSecret("tls.crt"), stored);
}

TEST_F(RotatorTest, WritesFail_AreRepeated) {
  api.inject({.method = "POST", .path = kSecrets, .kind = test::FaultKind::kStatus, .times = 2});
  api.inject({.method = "PATCH",
              .path = kRegistration,
              .kind = test::FaultKind::kStatus,
              .status = 403,
              .times = 2});
  ASSERT_TRUE(serves(begin()));
  EXPECT_EQ(trusted(), inSecret("ca.crt"));
}

TEST_F(RotatorTest, RegistrationChangedBeforeWrite_ChangeStays) {
  api.inject({.method = "PATCH", .path = kRegistration, .before = [this] {
                api.annotate(kRegistration, "other", "x");
              }});
  ASSERT_TRUE(serves(begin()));
  EXPECT_EQ(api.annotation(kRegistration, "other"), "x");
  EXPECT_EQ(trusted(), inSecret("ca.crt"));
}

TEST_F(RotatorTest, UnreadableSecret_IsReplaced) {
  api.set(kSecret, json::object{{"data", json::object{{"tls.crt", "%%%"}, {"tls.key", 7}}}});
  ASSERT_TRUE(serves(begin()));
  EXPECT_EQ(trusted(), inSecret("ca.crt"));
}

// Of a proxy before the API server, as an example.
TEST_F(RotatorTest, AnswerIsNoJson_IsRepeated) {
  for (const char* body : {"<html>", "[]", R"("text")"}) {
    api.inject({.method = "POST",
                .path = kSecrets,
                .kind = test::FaultKind::kStatus,
                .status = 200,
                .body = body});
    api.inject({.method = "PATCH",
                .path = kRegistration,
                .kind = test::FaultKind::kStatus,
                .status = 200,
                .body = body});
  }
  ASSERT_TRUE(serves(begin()));
  EXPECT_EQ(trusted(), inSecret("ca.crt"));
}

}  // namespace
}  // namespace divvy::scheduler
