#include "requests/colocation.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace divvy::requests {
namespace {

using Rule = vendors::ColocationRule;
using Word = vendors::ColocationWord;

const std::string& saidOf(const Rule& rule, const vendors::Annotations& annotations) {
  const auto said = annotations.find(rule.annotation);
  return said == annotations.end() || said->second.empty() ? rule.absent : said->second;
}

const Word* wordFor(const Rule& rule, const std::string& said) {
  const auto found = std::find_if(rule.words.begin(), rule.words.end(),
                                  [&](const Word& one) { return one.is == said; });
  return found == rule.words.end() ? nullptr : &*found;
}

// One word of each rule, in the order in which sorts are numbered.
using Words = std::vector<const Word*>;

std::vector<Words> sortsOf(const vendors::Kind& kind) {
  std::vector<Words> all{Words()};
  for (const Rule& rule : kind.company) {
    std::vector<Words> longer;
    for (const Words& words : all)
      for (const Word& word : rule.words) {
        longer.push_back(words);
        longer.back().push_back(&word);
      }
    all = std::move(longer);
  }
  return all;
}

bool beside(const Words& one, const Words& other) {
  for (std::size_t at = 0; at < one.size(); ++at) {
    const std::vector<std::string>& accepted = one[at]->beside;
    if (std::find(accepted.begin(), accepted.end(), other[at]->is) == accepted.end()) return false;
  }
  return true;
}

Error unknown(const Rule& rule, const std::string& said) {
  std::string accepted;
  for (const Word& one : rule.words)
    if (!one.is.empty()) accepted += (accepted.empty() ? "" : ", ") + one.is;
  return {ErrorCode::kUsage, "annotation " + rule.annotation + ": \"" + said +
                                 "\" is not accepted; accepted: " + accepted};
}

// All rules' words at once.
Result<Words> wordsFor(const vendors::Kind& kind, const vendors::Annotations& annotations) {
  Words words;
  for (const Rule& rule : kind.company) {
    const std::string& said = saidOf(rule, annotations);
    const Word* word = wordFor(rule, said);
    if (word == nullptr) return unknown(rule, said);
    words.push_back(word);
  }
  return words;
}

engine::ColocationRule companyOf(const vendors::Kind& kind, const Words& words) {
  engine::ColocationRule company{engine::DeviceKind(kind.name)};
  const std::vector<Words> sorts = sortsOf(kind);
  for (std::size_t at = 0; at < sorts.size(); ++at) {
    const auto sort = static_cast<std::uint8_t>(at + 1);
    if (sorts[at] == words) company.sort = sort;
    if (beside(words, sorts[at])) company.beside |= static_cast<std::uint16_t>(1u << sort);
  }
  return company;
}

Result<void> checkCount(const vendors::Ask& ask, const Words& words) {
  for (std::size_t at = 0; at < words.size(); ++at)
    if (words[at]->one_device && ask.count > 1)
      return Error(ErrorCode::kUsage, "annotation " + ask.kind->company[at].annotation + ": \"" +
                                          words[at]->is + "\", and " + std::to_string(ask.count) +
                                          " devices; accepted: one");
  return {};
}

void chargeNoCores(const engine::DeviceKind& kind, engine::Shape* shape) {
  const auto clear = [&](engine::DeviceAsk& ask) {
    if (ask.kind == kind && !ask.part) ask.compute = {};
  };
  for (auto* list : {&shape->init, &shape->containers})
    for (engine::Container& one : *list) {
      clear(one.devices);
      for (engine::DeviceAsk& other : one.others) clear(other);
    }
}

}  // namespace

std::uint8_t sortOf(const vendors::Kind& kind, const vendors::Annotations& annotations) {
  if (kind.company.empty()) return 0;
  const Result<Words> words = wordsFor(kind, annotations);
  return words ? companyOf(kind, *words).sort : std::uint8_t{0};
}

bool chargesNoCores(const vendors::Kind& kind, const vendors::Annotations& annotations) {
  if (kind.company.empty()) return false;
  const Result<Words> words = wordsFor(kind, annotations);
  return words &&
         std::any_of(words->begin(), words->end(), [](const Word* one) { return one->no_cores; });
}

Result<void> keepCompany(std::span<const ContainerAsks> init,
                         std::span<const ContainerAsks> containers,
                         const vendors::Annotations& annotations, engine::Shape* shape) {
  std::map<std::string, const vendors::Kind*> kinds;
  for (const auto& list : {init, containers}) {
    for (const ContainerAsks& one : list) {
      for (const vendors::Ask& ask : one.devices) {
        if (ask.kind->company.empty()) continue;
        const Result<Words> words = wordsFor(*ask.kind, annotations);
        if (!words) return words.error();
        if (const Result<void> good = checkCount(ask, *words); !good) return good;
        kinds.emplace(ask.kind->name, ask.kind);
      }
    }
  }
  for (const auto& [name, kind] : kinds) {
    const Result<Words> words = wordsFor(*kind, annotations);
    shape->company.push_back(companyOf(*kind, *words));
    const bool no_cores =
        std::any_of(words->begin(), words->end(), [](const Word* one) { return one->no_cores; });
    if (no_cores) chargeNoCores(shape->company.back().kind, shape);
  }
  return {};
}

}  // namespace divvy::requests
