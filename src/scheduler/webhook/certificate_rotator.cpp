#include "webhook/certificate_rotator.h"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "asio/rethrow.h"
#include "base/base64.h"
#include "base/http_status.h"
#include "json/path.h"
#include "kube/informer.h"
#include "kube/object.h"
#include "runtime/log.h"
#include "webhook/certificate_lifecycle.h"

namespace divvy::scheduler {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{500};
constexpr milliseconds kLongestPause{30'000};
constexpr milliseconds kShortestLook{100};
constexpr milliseconds kLongestLook{10'000};
constexpr std::size_t kMaxAuthorities = 8;
constexpr const char* kNoObject = ": the answer is not a JSON object";
constexpr const char* kRegistrations =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

Clock now() {
  return std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
}

std::string bytesAt(const json::value& object, JsonPath path) {
  return fromBase64(textAt(object, path)).value_or("");
}

// A reply of success. None: it is no JSON object, as of a proxy before the API server.
std::optional<json::value> objectIn(const std::string& text) {
  boost::system::error_code fault;
  json::value value = json::parse(text, fault);
  if (fault || !value.is_object()) return std::nullopt;
  return value;
}

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += one;
  return text;
}

// An error about a Secret may repeat its contents: the message is kept only where it cannot.
Error refusal(const kube::Reply& reply) {
  if (reply.status == http_status::kForbidden || reply.status == http_status::kNotFound)
    return kube::errorOf(reply);
  return {ErrorCode::kIo, "the API server answers " + std::to_string(reply.status)};
}

}  // namespace

// The Secret as the API server has it.
struct ObservedSecret {
  bool exists = false;
  std::string version;
  CertificateKeyPair pair;
  std::string authorities;  // PEM
};

struct CertificateRotator::Impl {
  Impl(kube::Client& talk, http::Server& at, OwnCertificate how)
      : client(talk), server(at), options(std::move(how)) {}

  std::string secrets() const {
    return "/api/v1/namespaces/" + options.namespace_name + "/secrets";
  }
  std::string secretPath() const { return options.namespace_name + '/' + options.name; }
  std::string secretName() const { return "Secret " + secretPath(); }

  void setSecret(const json::value& object) {
    secret.exists = true;
    secret.version = textAt(object, {"metadata", "resourceVersion"});
    secret.pair = {bytesAt(object, {"data", "tls.crt"}), bytesAt(object, {"data", "tls.key"})};
    secret.authorities = bytesAt(object, {"data", "ca.crt"});
    wake();
  }
  void noSecret() {
    secret = {};
    wake();
  }
  void setRegistration(const json::value& object) {
    registration = textAt(object, {"metadata", "resourceVersion"});
    bundles.emplace();
    const json::object* inside = object.if_object();
    if (const json::value* list = inside == nullptr ? nullptr : inside->if_contains("webhooks");
        list != nullptr && list->is_array())
      for (const json::value& one : list->get_array())
        bundles->push_back(bytesAt(one, {"clientConfig", "caBundle"}));
    wake();
  }
  void noRegistration() {
    bundles.reset();
    wake();
  }
  void wake() {
    if (timer != nullptr) timer->cancel();
  }

  // The state of now: certificates expire without an event.
  void refresh() {
    const Result<StoredCertificate> kept =
        inspect(secret.pair, secret.authorities, options.names, now());
    if (kept) {
      view.kept = *kept;
    } else {
      view.kept.reset();
    }
    unusable = kept || !secret.exists ? "" : kept.error().message();
    view.trusted.reset();
    if (bundles) {
      view.trusted.emplace();
      for (const std::string& one : *bundles) view.trusted->push_back(authoritiesIn(one, now()));
    }
    if (!isTrusted(view)) {
      view.trusted_since.reset();
    } else if (!view.trusted_since) {
      view.trusted_since = now();
    }
  }

  // False: it was not done, and is to be looked at again after a pause.
  asio::awaitable<bool> make() {
    // Replicas that want different names would make them in turns, without end.
    if (now() - made_at < often()) co_return false;
    made_at = now();
    Result<StoredCertificate> made = issue(options.names, now(), options.life);
    if (!made) co_return fail("making a certificate: " + made.error().message());
    for (const std::optional<StoredCertificate>* old : {&view.served, &view.kept}) {
      if (!*old) continue;
      for (const std::string& one : (*old)->authorities)
        if (made->authorities.size() < kMaxAuthorities &&
            std::find(made->authorities.begin(), made->authorities.end(), one) ==
                made->authorities.end())
          made->authorities.push_back(one);
    }
    if (!unusable.empty())
      log::warn("the stored certificate cannot be used; a new one is made",
                {{"secret", secretPath()}, {"error", unusable}});
    co_return co_await write(*made, "a new certificate is stored");
  }

  asio::awaitable<bool> forget() {
    StoredCertificate kept = *view.kept;
    kept.authorities.resize(1);
    co_return co_await write(kept, "earlier authorities are removed");
  }

  asio::awaitable<bool> write(const StoredCertificate& kept, std::string done) {
    json::object data{{"tls.crt", toBase64(kept.pair.certificate)},
                      {"tls.key", toBase64(kept.pair.key)},
                      {"ca.crt", toBase64(joined(kept.authorities))}};
    kube::Call call;
    json::object body;
    if (secret.exists) {
      call.verb = kube::Verb::kPatch;
      call.path = secrets() + '/' + options.name;
      call.type = kube::kMergePatch;
      // Refused where it is another version by now.
      body["metadata"] = json::object{{"resourceVersion", secret.version}};
    } else {
      call.verb = kube::Verb::kPost;
      call.path = secrets();
      body["apiVersion"] = "v1";
      body["kind"] = "Secret";
      body["type"] = "kubernetes.io/tls";
      body["metadata"] =
          json::object{{"name", options.name}, {"namespace", options.namespace_name}};
    }
    body["data"] = std::move(data);
    call.body = json::serialize(body);
    const Result<kube::Reply> reply = co_await client.send(std::move(call));
    if (!reply) co_return fail(secretName() + ": " + reply.error().message());
    if (reply->status == http_status::kConflict) co_return co_await winners(secrets());
    if (!reply->good()) co_return fail(secretName() + ": " + refusal(*reply).message());
    const std::optional<json::value> secret_now = objectIn(reply->body);
    if (!secret_now) co_return fail(secretName() + kNoObject);
    setSecret(*secret_now);
    log::info(done, {{"secret", secretPath()}});
    co_return true;
  }

  // Another replica was first: its object is as good, and is read after a pause.
  asio::awaitable<bool> winners(std::string collection) {
    const bool of_secret = collection == secrets();
    kube::Call call{kube::Verb::kGet,
                    collection + '/' + (of_secret ? options.name : options.registration)};
    const Result<json::value> there = co_await client.ask(std::move(call));
    if (there) {
      of_secret ? setSecret(*there) : setRegistration(*there);
    } else if (there.error().code() == ErrorCode::kNotFound) {
      of_secret ? noSecret() : noRegistration();
    } else {
      log::warn("cannot read again after a conflict",
                {{"path", collection}, {"error", there.error().message()}});
    }
    co_return false;
  }

  asio::awaitable<bool> trust(bool only) {
    json::array patch{json::object{
        {"op", "replace"}, {"path", "/metadata/resourceVersion"}, {"value", registration}}};
    for (std::size_t at = 0; at < view.trusted->size(); ++at) {
      const std::vector<std::string> list =
          only ? view.kept->authorities : trustOf(view, (*view.trusted)[at]);
      patch.push_back(
          json::object{{"op", "add"},
                       {"path", "/webhooks/" + std::to_string(at) + "/clientConfig/caBundle"},
                       {"value", toBase64(joined(list))}});
    }
    kube::Call call{kube::Verb::kPatch, std::string(kRegistrations) + '/' + options.registration};
    call.type = kube::kJsonPatch;
    call.body = json::serialize(patch);
    const Result<kube::Reply> reply = co_await client.send(std::move(call));
    const std::string what = "MutatingWebhookConfiguration " + options.registration;
    if (!reply) co_return fail(what + ": " + reply.error().message());
    if (reply->status == http_status::kConflict) co_return co_await winners(kRegistrations);
    if (!reply->good()) co_return fail(what + ": " + kube::errorOf(*reply).message());
    const std::optional<json::value> registration_now = objectIn(reply->body);
    if (!registration_now) co_return fail(what + kNoObject);
    setRegistration(*registration_now);
    log::info(only ? "the webhook configuration trusts the newest authority only"
                   : "the webhook configuration trusts the authorities in use",
              {{"webhook_configuration", options.registration}});
    co_return true;
  }

  asio::awaitable<bool> serve() {
    const Result<void> used = server.use(view.kept->pair.certificate, view.kept->pair.key);
    if (!used) co_return fail("serving: " + used.error().message());
    view.served = view.kept;
    log::info("the webhook uses the stored certificate", {{"secret", secretPath()}});
    co_return true;
  }

  asio::awaitable<bool> take(CertificateStep step) {
    switch (step) {
      case CertificateStep::kWait:
        break;
      case CertificateStep::kIssue:
        return make();
      case CertificateStep::kTrust:
        return trust(false);
      case CertificateStep::kServe:
        return serve();
      case CertificateStep::kForgetOld:
        return forget();
      case CertificateStep::kDistrustOld:
        return trust(true);
    }
    return nothing();
  }
  static asio::awaitable<bool> nothing() { co_return true; }

  milliseconds often() const {
    return std::clamp<milliseconds>(milliseconds(options.life) / 100, kShortestLook, kLongestLook);
  }
  bool fail(const std::string& why) {
    log::warn("keeping the webhook's certificate failed", {{"error", why}});
    return false;
  }

  kube::Client& client;
  http::Server& server;
  OwnCertificate options;
  CertificateView view;
  Clock made_at{};
  ObservedSecret secret;
  std::string unusable;                             // why
  std::string registration;                         // its version
  std::optional<std::vector<std::string>> bundles;  // PEM, by webhook
  std::unique_ptr<asio::steady_timer> timer;
  kube::Informer secret_rein, registration_rein;
};

CertificateRotator::CertificateRotator(kube::Client& client, http::Server& server,
                                       OwnCertificate options)
    : impl_(std::make_shared<Impl>(client, server, std::move(options))) {}
CertificateRotator::~CertificateRotator() = default;

bool CertificateRotator::serves() const {
  return impl_->view.served.has_value();
}

asio::awaitable<void> CertificateRotator::run(const bool* stopped) {
  const std::shared_ptr<Impl> self = impl_;
  const auto executor = co_await asio::this_coro::executor;
  self->timer = std::make_unique<asio::steady_timer>(executor);
  kube::EventHandlers follower;
  follower.trouble = logWatchTrouble("secrets");
  follower.path = self->secrets();
  follower.query = "fieldSelector=metadata.name%3D" + self->options.name;
  follower.set = [self](const json::value& object) { self->setSecret(object); };
  follower.gone = [self](const std::string&, const std::string&) { self->noSecret(); };
  follower.synced = [self] {
    self->view.secret_known = true;
    self->wake();
  };
  asio::co_spawn(executor, kube::runReflector(self->client, follower, self->secret_rein, stopped),
                 rethrow);
  follower.trouble = logWatchTrouble("mutatingwebhookconfigurations");
  follower.path = kRegistrations;
  follower.query = "fieldSelector=metadata.name%3D" + self->options.registration;
  follower.set = [self](const json::value& object) { self->setRegistration(object); };
  follower.gone = [self](const std::string&, const std::string&) { self->noRegistration(); };
  follower.synced = [self] {
    self->view.registration_known = true;
    self->wake();
  };
  asio::co_spawn(executor,
                 kube::runReflector(self->client, follower, self->registration_rein, stopped),
                 rethrow);
  milliseconds pause = kFirstPause;
  while (!*stopped) {
    self->refresh();
    const CertificateStep step = nextStep(self->view, now());
    const bool done = co_await self->take(step);
    if (done && step != CertificateStep::kWait) continue;
    self->timer->expires_after(done ? self->often() : pause);
    pause = done ? kFirstPause : std::min(pause * 2, kLongestPause);
    co_await self->timer->async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace divvy::scheduler
