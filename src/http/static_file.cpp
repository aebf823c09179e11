#include "http/static_file.h"

#include <algorithm>

#include "base/http_status.h"
#include "tokens.h"

namespace divvy::http {
namespace {

constexpr int kAbsent = -1;
constexpr int kWhole = 1000;

// Returns a weight in thousandths, or kAbsent for a malformed one. Source: RFC 9110, 12.4.2.
int weightOf(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return kAbsent;
  int weight = (text[0] - '0') * kWhole;
  if (text.size() > 1 && text[1] != '.') return kAbsent;
  int unit = kWhole / 10;
  for (std::size_t i = 2; i < text.size(); ++i, unit /= 10) {
    if (text[i] < '0' || text[i] > '9') return kAbsent;
    weight += (text[i] - '0') * unit;
  }
  return weight <= kWhole ? weight : kAbsent;
}

struct Weights {
  int identity = kAbsent, gzip = kAbsent, brotli = kAbsent, others = kAbsent;
};

int* placeOf(std::string_view coding, Weights* weights) {
  if (equalNames(coding, "identity")) return &weights->identity;
  if (equalNames(coding, "gzip") || equalNames(coding, "x-gzip")) return &weights->gzip;
  if (equalNames(coding, "br")) return &weights->brotli;
  return coding == "*" ? &weights->others : nullptr;
}

Weights weightsOf(std::string_view field) {
  Weights weights;
  while (!field.empty()) {
    std::string_view member = takeUntil(&field, ',');
    int* place = placeOf(takeUntil(&member, ';'), &weights);
    if (place == nullptr || *place != kAbsent) continue;
    if (member.empty()) {
      *place = kWhole;
      continue;
    }
    const std::string_view name = takeUntil(&member, '=');
    if (equalNames(name, "q")) *place = weightOf(trimmed(member));
  }
  return weights;
}

}  // namespace

Encoding chooseEncoding(const std::string* accept_encoding, bool gzip, bool brotli) {
  if (accept_encoding == nullptr) return Encoding::kIdentity;
  const Weights weights = weightsOf(*accept_encoding);
  const auto weightOrOthers = [&](int weight) {
    return std::max(weight != kAbsent ? weight : weights.others, 0);
  };
  const int of_brotli = brotli ? weightOrOthers(weights.brotli) : 0;
  const int of_gzip = gzip ? weightOrOthers(weights.gzip) : 0;
  // Without a word about it, the file itself is accepted, and anything else that is named
  // preferred.
  const bool unnamed = weights.identity == kAbsent && weights.others == kAbsent;
  const int of_identity = unnamed ? 1 : weightOrOthers(weights.identity);
  const int best = std::max({of_brotli, of_gzip, of_identity});
  if (best == 0) return Encoding::kNone;
  if (of_brotli == best) return Encoding::kBrotli;
  return of_gzip == best ? Encoding::kGzip : Encoding::kIdentity;
}

Answer StaticFile::answer(const Query& query) const {
  const Encoding encoding =
      chooseEncoding(query.fields.find("Accept-Encoding"), !gzip.empty(), !brotli.empty());
  Answer answer;
  if (encoding == Encoding::kNone) {
    answer = plainText(http_status::kNotAcceptable,
                       "no variant of this file has an accepted encoding; accept identity");
  } else {
    answer.type = type;
    answer.fixed = encoding == Encoding::kBrotli ? brotli
                   : encoding == Encoding::kGzip ? gzip
                                                 : identity;
    const std::string_view suffix = encoding == Encoding::kBrotli ? "-br"
                                    : encoding == Encoding::kGzip ? "-gzip"
                                                                  : "";
    answer.fields.add("ETag", '"' + hash + std::string(suffix) + '"');
    answer.fields.add("Cache-Control",
                      immutable ? "public, max-age=31536000, immutable" : "no-cache");
    if (encoding == Encoding::kBrotli) answer.fields.add("Content-Encoding", "br");
    if (encoding == Encoding::kGzip) answer.fields.add("Content-Encoding", "gzip");
  }
  if (!gzip.empty() || !brotli.empty()) answer.fields.add("Vary", "Accept-Encoding");
  return answer;
}

}  // namespace divvy::http
