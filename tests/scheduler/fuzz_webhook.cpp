// Any bytes as a review: refused with a reason, or answered with a review that allows or says why
// not.
#include <cstdint>
#include <cstdlib>
#include <string>

#include <boost/json.hpp>

#include "webhook/pod_webhook.h"

using namespace divvy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vendors::Catalog catalog = *vendors::Catalog::of(vendors::builtIn());
  static const engine::Engine rules{engine::Config{}};
  const std::string body(reinterpret_cast<const char*>(data), size);
  const Result<scheduler::Review> said =
      scheduler::review(body, {catalog, rules, "divvy-scheduler"});
  if (!said) {
    if (said.error().message().empty()) std::abort();
    return 0;
  }
  const boost::json::value review = boost::json::parse(said->body);
  const boost::json::object& answer = review.at("response").as_object();
  const bool allowed = answer.at("allowed").as_bool();
  if (allowed != said->allowed) std::abort();
  if (!allowed && answer.at("status").at("message").as_string().empty()) std::abort();
  if (!allowed && answer.contains("patch")) std::abort();
  return 0;
}
