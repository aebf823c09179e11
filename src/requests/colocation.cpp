#include "requests/colocation.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace divvy::requests {
namespace {

using ColocationRule = vendors::ColocationRule;
using ColocationValue = vendors::ColocationValue;

const std::string& valueOf(const ColocationRule& rule, const vendors::Annotations& annotations) {
  const auto value = annotations.find(rule.annotation);
  return value == annotations.end() || value->second.empty() ? rule.absent : value->second;
}

const ColocationValue* wordFor(const ColocationRule& rule, const std::string& value) {
  const auto found = std::find_if(rule.words.begin(), rule.words.end(),
                                  [&](const ColocationValue& one) { return one.is == value; });
  return found == rule.words.end() ? nullptr : &*found;
}

// One word of each rule, in the order in which sorts are numbered.
using ColocationValues = std::vector<const ColocationValue*>;

std::vector<ColocationValues> sortsOf(const vendors::Kind& kind) {
  std::vector<ColocationValues> all{ColocationValues()};
  for (const ColocationRule& rule : kind.company) {
    std::vector<ColocationValues> longer;
    for (const ColocationValues& words : all)
      for (const ColocationValue& word : rule.words) {
        longer.push_back(words);
        longer.back().push_back(&word);
      }
    all = std::move(longer);
  }
  return all;
}

bool beside(const ColocationValues& one, const ColocationValues& other) {
  for (std::size_t at = 0; at < one.size(); ++at) {
    const std::vector<std::string>& accepted = one[at]->beside;
    if (std::find(accepted.begin(), accepted.end(), other[at]->is) == accepted.end()) return false;
  }
  return true;
}

Error unknown(const ColocationRule& rule, const std::string& value) {
  std::string accepted;
  for (const ColocationValue& one : rule.words)
    if (!one.is.empty()) accepted += (accepted.empty() ? "" : ", ") + one.is;
  return {ErrorCode::kUsage, "annotation " + rule.annotation + ": \"" + value +
                                 "\" is not accepted; accepted: " + accepted};
}

// All rules' words at once.
Result<ColocationValues> wordsFor(const vendors::Kind& kind,
                                  const vendors::Annotations& annotations) {
  ColocationValues words;
  for (const ColocationRule& rule : kind.company) {
    const std::string& value = valueOf(rule, annotations);
    const ColocationValue* word = wordFor(rule, value);
    if (word == nullptr) return unknown(rule, value);
    words.push_back(word);
  }
  return words;
}

engine::ColocationRule companyOf(const vendors::Kind& kind, const ColocationValues& words) {
  engine::ColocationRule company{engine::DeviceKind(kind.name)};
  const std::vector<ColocationValues> sorts = sortsOf(kind);
  for (std::size_t at = 0; at < sorts.size(); ++at) {
    const auto sort = static_cast<std::uint8_t>(at + 1);
    if (sorts[at] == words) company.sort = sort;
    if (beside(words, sorts[at])) company.beside |= static_cast<std::uint16_t>(1u << sort);
  }
  return company;
}

Result<void> checkCount(const vendors::KindRequest& request, const ColocationValues& words) {
  for (std::size_t at = 0; at < words.size(); ++at)
    if (words[at]->one_device && request.count > 1)
      return Error(ErrorCode::kUsage,
                   "annotation " + request.kind->company[at].annotation + ": \"" + words[at]->is +
                       "\", and " + std::to_string(request.count) + " devices; accepted: one");
  return {};
}

void chargeNoCores(const engine::DeviceKind& kind, engine::Shape* shape) {
  const auto clear = [&](engine::DeviceRequest& request) {
    if (request.kind == kind && !request.part) request.compute = {};
  };
  for (auto* list : {&shape->init, &shape->containers})
    for (engine::Container& one : *list) {
      clear(one.devices);
      for (engine::DeviceRequest& other : one.others) clear(other);
    }
}

}  // namespace

std::uint8_t sortOf(const vendors::Kind& kind, const vendors::Annotations& annotations) {
  if (kind.company.empty()) return 0;
  const Result<ColocationValues> words = wordsFor(kind, annotations);
  return words ? companyOf(kind, *words).sort : std::uint8_t{0};
}

bool chargesNoCores(const vendors::Kind& kind, const vendors::Annotations& annotations) {
  if (kind.company.empty()) return false;
  const Result<ColocationValues> words = wordsFor(kind, annotations);
  return words && std::any_of(words->begin(), words->end(),
                              [](const ColocationValue* one) { return one->no_cores; });
}

Result<void> applyColocation(std::span<const ContainerRequests> init,
                             std::span<const ContainerRequests> containers,
                             const vendors::Annotations& annotations, engine::Shape* shape) {
  std::map<std::string, const vendors::Kind*> kinds;
  for (const auto& list : {init, containers}) {
    for (const ContainerRequests& one : list) {
      for (const vendors::KindRequest& request : one.devices) {
        if (request.kind->company.empty()) continue;
        const Result<ColocationValues> words = wordsFor(*request.kind, annotations);
        if (!words) return words.error();
        if (const Result<void> good = checkCount(request, *words); !good) return good;
        kinds.emplace(request.kind->name, request.kind);
      }
    }
  }
  for (const auto& [name, kind] : kinds) {
    const Result<ColocationValues> words = wordsFor(*kind, annotations);
    shape->company.push_back(companyOf(*kind, *words));
    const bool no_cores = std::any_of(words->begin(), words->end(),
                                      [](const ColocationValue* one) { return one->no_cores; });
    if (no_cores) chargeNoCores(shape->company.back().kind, shape);
  }
  return {};
}

}  // namespace divvy::requests
