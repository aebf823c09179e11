#include "agent/placement.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace divvy::agent {
namespace {

constexpr unsigned kAllCores = 100;

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Model names are compared without blanks and dashes: "rtx4090" finds "NVIDIA GeForce RTX 4090".
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) result += lower(c);
  }
  return result;
}

bool modelMatches(const std::vector<std::string>& wanted, const std::string& model) {
  const std::string name = plain(model);
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& part) {
           return name.find(plain(part)) != std::string::npos;
         });
}

bool uuidMatches(const std::vector<std::string>& wanted, const std::string& uuid) {
  return wanted.empty() ||
         std::any_of(wanted.begin(), wanted.end(), [&](const std::string& prefix) {
           return prefix.size() <= uuid.size() &&
                  std::equal(prefix.begin(), prefix.end(), uuid.begin(),
                             [](char a, char b) { return lower(a) == lower(b); });
         });
}

std::optional<Refusal> refuse(const Ask& ask, const Card& card) {
  const Bytes limit = ask.memory.on(card.physical);
  const Bytes reserve = ask.context_inside ? limit : limit + card.context;
  const auto refusal = [&](Why why, std::uint64_t needed, std::uint64_t available) {
    return Refusal{card.index, card.uuid, card.model, why, needed, available};
  };
  if (!uuidMatches(ask.uuids, card.uuid)) return refusal(Why::kUuid, 0, 0);
  if (!modelMatches(ask.models, card.model)) return refusal(Why::kModel, 0, 0);
  if (reserve > card.physical) return refusal(Why::kTooLarge, reserve.count, card.physical.count);
  if (ask.context_inside && limit < card.context) {
    return refusal(Why::kBelowContext, limit.count, card.context.count);
  }
  if (!card.healthy) return refusal(Why::kUnhealthy, 0, 0);
  if (reserve > card.free()) return refusal(Why::kMemory, reserve.count, card.free().count);
  const unsigned cores_free = kAllCores - std::min(kAllCores, card.cores_reserved);
  if (ask.cores > cores_free) return refusal(Why::kCores, ask.cores, cores_free);
  return std::nullopt;
}

std::string summarise(const Ask& ask, const std::vector<Card>& cards, std::size_t fitting) {
  std::string text = ask.memory.text();
  if (ask.cores != 0) text += " and " + std::to_string(ask.cores) + "% of the compute";
  if (ask.gpus > 1) text += " on each of " + std::to_string(ask.gpus) + " devices";
  if (cards.size() < ask.gpus) {
    return text + " asked, this machine has " + std::to_string(cards.size()) +
           (cards.size() == 1 ? " device" : " devices");
  }
  text += " asked: " + std::to_string(fitting) + " of " + std::to_string(cards.size()) +
          (cards.size() == 1 ? " device fits" : " devices fit");
  return text;
}

// "device 3", "devices 0-2, 5": `devices` ascends.
std::string spans(const std::vector<unsigned>& devices) {
  std::string text = devices.size() == 1 ? "device " : "devices ";
  for (std::size_t first = 0; first < devices.size();) {
    std::size_t last = first;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) ++last;
    if (first != 0) text += ", ";
    text += std::to_string(devices[first]);
    if (last != first) text += "-" + std::to_string(devices[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace

std::string Refusal::text() const {
  switch (why) {
    case Why::kModel:
      return "is another model";
    case Why::kUuid:
      return "its UUID is " + uuid;
    case Why::kTooLarge:
      return "needs " + formatBytes({needed}) + ", the card has " + formatBytes({available});
    case Why::kBelowContext:
      return formatBytes({needed}) + " is less than one context costs here (" +
             formatBytes({available}) + "); ask for more, or use --context-overhead outside";
    case Why::kMemory:
      return "needs " + formatBytes({needed}) + ", " + formatBytes({available}) + " free";
    case Why::kCores:
      return "needs " + std::to_string(needed) + "% of the compute, " + std::to_string(available) +
             "% free";
    case Why::kUnhealthy:
      return "is out of service";
  }
  return "cannot be used";
}

Decision place(const Ask& ask, const std::vector<Card>& cards) {
  Decision decision;
  std::size_t possible = 0;
  for (const Card& card : cards) {
    std::optional<Refusal> refusal = refuse(ask, card);
    if (refusal) {
      possible += refusal->forever() ? 0 : 1;
      decision.refusals.push_back(std::move(*refusal));
      continue;
    }
    ++possible;
    if (decision.shares.size() == ask.gpus) continue;
    const Bytes limit = ask.memory.on(card.physical);
    decision.shares.push_back(
        {card.index, limit, ask.context_inside ? limit : limit + card.context, ask.cores});
  }
  if (ask.gpus != 0 && decision.shares.size() == ask.gpus) return decision;
  decision.impossible = possible < ask.gpus || ask.gpus == 0;
  decision.summary = summarise(ask, cards, decision.shares.size());
  decision.shares.clear();
  return decision;
}

std::vector<std::string> explain(const Decision& decision) {
  struct Group {
    std::string model;
    std::string text;
    std::vector<unsigned> devices;
  };
  std::vector<Group> groups;
  for (const Refusal& refusal : decision.refusals) {
    const std::string text = refusal.text();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return other.model == refusal.model && other.text == text;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {refusal.model, text, {}});
    group->devices.push_back(refusal.index);
  }
  std::vector<std::string> lines;
  for (const Group& group : groups) {
    lines.push_back(spans(group.devices) + " (" + group.model + "): " + group.text);
  }
  return lines;
}

bool canGrow(const Card& card, Bytes held, Bytes wanted) {
  return wanted <= held || (card.healthy && wanted - held <= card.free());
}

}  // namespace divvy::agent
