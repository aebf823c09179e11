#include "agent/placement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "placement/engine_adapter.h"

namespace divvy::agent {
namespace {

constexpr unsigned kAllCores = 100;

engine::Request requestOf(const ShareRequest& ask) {
  return {engine::RequestId("asked"), shapeOf(ask), engine::UserName(ask.user)};
}

// The memory that a share takes there.
engine::Part partOf(const ShareRequest& ask, const Card& card) {
  return engine::partOn(card.placementInput(), limitOn(ask.memory, card), guaranteeOn(ask, card),
                        !ask.context_inside);
}

const Card& cardOf(const engine::DeviceUuid& uuid, const std::vector<Card>& cards) {
  return *std::find_if(cards.begin(), cards.end(),
                       [&](const Card& card) { return card.uuid == uuid.text; });
}

std::string summarise(const ShareRequest& ask, const std::vector<Card>& cards,
                      std::size_t fitting) {
  std::string text = ask.memory.text();
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

// Enough devices fit one by one, but host memory does not suffice for all.
void refuseTogether(const ShareRequest& ask, const std::vector<Card>& cards, Bytes host_left,
                    Decision& decision) {
  for (const Card& card : cards) {
    const bool known = std::any_of(decision.refusals.begin(), decision.refusals.end(),
                                   [&](const Refusal& one) { return one.index == card.index; });
    const Bytes added = engine::addedBeyond(card.placementInput(), partOf(ask, card));
    if (!known)
      decision.refusals.push_back({card.index, card.uuid, card.model,
                                   engine::DeviceWhy::kHostReserve, added.count, host_left.count});
  }
  std::sort(decision.refusals.begin(), decision.refusals.end(),
            [](const Refusal& a, const Refusal& b) { return a.index < b.index; });
}

// A request here has one container, so its name is left out.
std::string inOneContainer(const std::string& text) {
  const std::string which = "container 0 ";
  return text.starts_with(which) ? text.substr(which.size()) : text;
}

// "H20, L20"
std::string modelsOf(const ShareRequest& ask) {
  std::string all;
  for (const std::string& model : ask.models) all += (all.empty() ? "" : ", ") + model;
  return all;
}

// Fills `decision` with the devices or the refusals. Errors: the request can never be valid.
Result<void> decide(const ShareRequest& ask, const std::vector<Card>& cards, Bytes host_reserve,
                    const PlacementOptions& placing, Decision& decision) {
  const Result<engine::Engine> engine = engineOf(cards, host_reserve, placing);
  if (!engine) return engine.error();
  const engine::Request request = requestOf(ask);
  const Result<engine::Decision> decided = engine->explain(request);
  if (!decided) return decided.error();
  const auto refused = engine->refusedDevices(request, thisMachine(), 0);
  if (!refused) return refused.error();
  for (const engine::DeviceRefusal& one : *refused) {
    const Card& card = cardOf(one.uuid, cards);
    decision.refusals.push_back({card.index, card.uuid, card.model, one.why, one.needed,
                                 one.available, one.pool.text, modelsOf(ask)});
  }
  if (!decided->fits()) {
    const engine::NodeWhy why = decided->refusals.front().why;
    if (why == engine::NodeWhy::kNuma || why == engine::NodeWhy::kLinks ||
        why == engine::NodeWhy::kNic)
      decision.summary = inOneContainer(engine::text(decided->refusals.front()));
    const Result<bool> possible = engine->possible(request);
    decision.impossible = !possible || !*possible;
    return {};
  }
  decision.pool = decided->placement->pool.text;
  decision.alone = decided->placement->charges.front().slots > 1;
  for (const engine::Share& share : decided->placement->containers[0]) {
    const Card& card = cardOf(share.uuid, cards);
    const engine::Part part = partOf(ask, card);
    decision.shares.push_back(
        {card.index, part.limit, part.reserve(), ask.coresEach(), guaranteeOn(ask, card)});
  }
  decision.placement = decided->placement;
  decision.placement->node = {};
  return {};
}

// The policy of the pool that the request names, or gets by default.
engine::DevicePolicy devicesFor(const engine::Engine& engine, const engine::Request& request,
                                const PlacementOptions& placing) {
  for (const engine::Pool& pool : engine.pools()) {
    const bool asked = request.shape.pool == pool.name;
    const bool otherwise =
        !request.shape.pool && std::find(pool.default_of.begin(), pool.default_of.end(),
                                         request.user) != pool.default_of.end();
    if (asked || otherwise) return pool.devices.value_or(placing.devices);
  }
  return placing.devices;
}

// In the form of --memory and --guaranteed: whole MiB, rounded down.
std::string sizeOption(std::uint64_t bytes) {
  constexpr std::uint64_t kMi = 1 << 20;
  if (bytes < kMi) return std::to_string(bytes);
  const std::uint64_t mi = bytes / kMi;
  return mi % 1024 == 0 ? std::to_string(mi / 1024) + "Gi" : std::to_string(mi) + "Mi";
}

// Empty: no option expresses the change.
std::string optionOf(const engine::Change& change, const engine::Shape& shape) {
  const auto each = [&](const char* option) {
    std::string all;
    for (const std::string& name : change.names) {
      const bool plain = name.find_first_of(" '\"") == std::string::npos;
      all += (all.empty() ? "" : " ") + std::string(option) + (plain ? name : "'" + name + "'");
    }
    return all;
  };
  switch (change.kind) {
    case engine::ChangeKind::kDeviceMemory:
      return "--memory " + sizeOption(change.to);
    case engine::ChangeKind::kDevicePercent:
      return "--memory " + std::to_string(change.to) + "%";
    case engine::ChangeKind::kGuarantee:
      return "--guaranteed " + sizeOption(change.to);
    case engine::ChangeKind::kGuaranteePercent:
      return "--guaranteed " + std::to_string(change.to) + "%";
    case engine::ChangeKind::kDevices:
      return "--gpus " + std::to_string(change.to);
    case engine::ChangeKind::kModels:
      return each("--model ");
    case engine::ChangeKind::kUuids:
      return each("--uuid ");
    case engine::ChangeKind::kPool:
      return "--pool " + poolWord(change.names.front());
    case engine::ChangeKind::kNotMutex:
    case engine::ChangeKind::kNotNumaStrict:
    case engine::ChangeKind::kNotLinkStrict:
    case engine::ChangeKind::kNotNic:
      return "--device-policy " + engine::text(*engine::changed(shape, {change}).devices);
    default:
      return "";
  }
}

}  // namespace

engine::MemoryAccounts Card::placementInput() const {
  return {physical,   {foreign, budget, overcommit_permille, context, host_map},
          reserved,   outside,
          guaranteed, largest};
}

Refusal refusalOf(const Card& card, const engine::MemoryRefusal& refused) {
  return {card.index,           card.uuid,
          card.model,           refused.why,
          refused.needed.count, refused.available.count};
}

// Uses option names of this command line, else the engine's text.
std::string Refusal::text() const {
  using engine::DeviceWhy;
  switch (why) {
    case DeviceWhy::kModelNotAsked:
      return "is another model; requested: " + asked;
    case DeviceWhy::kModelExcluded:
      return "is a MIG instance; a process can use one, and no other device";
    case DeviceWhy::kUuidNotAsked:
      return "its UUID is " + uuid;
    case DeviceWhy::kUnhealthy:
      return "is out of service";
    case DeviceWhy::kCordoned:
      return "is excluded on this node";
    case DeviceWhy::kBelowContext:
      return formatBytes({needed}) + " is less than one context costs here (" +
             formatBytes({available}) + "); request more, or use --context-overhead outside";
    case DeviceWhy::kOverPromiseLimit:
      return "needs " + formatBytes({needed}) + ", at most " + formatBytes({available}) +
             " may be promised there (--overcommit)";
    case DeviceWhy::kOvercommit:
      return "needs " + formatBytes({needed}) + ", " + formatBytes({available}) +
             " may still be promised (--overcommit)";
    case DeviceWhy::kHostReserve:
      return "needs " + formatBytes({needed}) + " of host memory for swapping, " +
             formatBytes({available}) + " left of the reserve (--host-reserve)";
    default:
      return engine::text(engine::DeviceRefusal{engine::DeviceUuid(uuid), why, needed, available,
                                                engine::PoolName(pool)});
  }
}

Bytes limitOn(const MemoryRequest& memory, const Card& card) {
  return memory.on(card.overcommitted() ? card.most() : card.physical);
}

Bytes guaranteeOn(const ShareRequest& ask, const Card& card) {
  const Bytes limit = limitOn(ask.memory, card);
  if (!card.overcommitted() || ask.unswappable) return limit;
  return ask.guaranteed ? std::min(limitOn(*ask.guaranteed, card), limit) : Bytes{};
}

Bytes floorOf(const Card& card, Bytes guarantee, Bytes limit, bool context_inside) {
  return context_inside ? std::max(guarantee, std::min(card.context, limit)) : guarantee;
}

Bytes hostLeft(const std::vector<Card>& cards, Bytes reserve) {
  Bytes beyond;
  for (const Card& card : cards) beyond = beyond + card.beyond();
  return reserve - beyond;
}

Decision place(const ShareRequest& ask, const std::vector<Card>& cards, Bytes host_reserve,
               const PlacementOptions& placing) {
  Decision decision;
  const Result<void> right = decide(ask, cards, host_reserve, placing, decision);
  if (!right || ask.gpus == 0) {
    decision = {};
    decision.impossible = true;
    decision.summary = right ? summarise(ask, cards, cards.size()) : right.error().message();
    return decision;
  }
  if (decision.fits() || !decision.summary.empty()) return decision;
  const std::size_t fitting = cards.size() - decision.refusals.size();
  const bool together = fitting >= ask.gpus;
  if (together) refuseTogether(ask, cards, hostLeft(cards, host_reserve), decision);
  decision.summary = summarise(ask, cards, together ? 0 : fitting);
  return decision;
}

std::vector<std::string> fixes(const ShareRequest& ask, const std::vector<Card>& cards,
                               Bytes host_reserve, const PlacementOptions& placing) {
  std::vector<std::string> lines;
  const Result<engine::Engine> engine = engineOf(cards, host_reserve, placing);
  if (!engine || ask.gpus == 0) return lines;
  engine::Request request = requestOf(ask);
  const auto remedies = engine->remedies(request, thisMachine());
  // Defaults for requests without a device policy.
  if (!request.shape.devices) request.shape.devices = devicesFor(*engine, request, placing);
  if (!remedies) return lines;
  for (const engine::Remedy& remedy : *remedies) {
    std::string line;
    for (const engine::Change& change : remedy)
      line += (line.empty() ? "" : " ") + optionOf(change, request.shape);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> victims(const ShareRequest& ask, Priority asker,
                                 const std::vector<Card>& cards,
                                 const std::vector<AllocationOwner>& holders, Bytes host_reserve,
                                 const PlacementOptions& placing) {
  const Result<engine::Engine> engine = engineOf(cards, host_reserve, placing, holders);
  if (!engine || ask.gpus == 0) return {};
  engine::EvictionCosts costs;
  for (const AllocationOwner& holder : holders) {
    const auto lost = static_cast<std::int64_t>(holder.age_s * holder.held.size());
    costs.of[engine::RequestId(holder.id)] = {
        static_cast<std::int64_t>(holder.priority), lost, {}, {}};
  }
  const auto found = engine->preempt(requestOf(ask), static_cast<std::int64_t>(asker), costs);
  std::vector<std::string> ids;
  if (!found || !*found) return ids;
  for (const engine::RequestId& id : (*found)->victims) ids.push_back(id.text);
  return ids;
}

std::vector<std::string> poolsOf(const std::vector<Card>& cards, const PlacementOptions& placing) {
  std::vector<std::string> pools(cards.size());
  if (placing.pools.empty()) return pools;
  const Result<engine::Engine> engine = engineOf(cards, {}, placing);
  for (std::size_t i = 0; engine && i < cards.size(); ++i)
    pools[i] = engine->poolOf(thisMachine(), engine::DeviceUuid(cards[i].uuid))->text;
  return pools;
}

std::vector<std::string> coresNotes(const std::vector<PlacedShare>& shares,
                                    const std::vector<Card>& cards) {
  std::map<std::pair<unsigned, unsigned>, std::vector<unsigned>> sums;  // (sum, own) -> devices
  for (const PlacedShare& share : shares) {
    const auto card = std::find_if(cards.begin(), cards.end(),
                                   [&](const Card& c) { return c.index == share.index; });
    if (card == cards.end()) continue;
    const unsigned sum = card->cores_reserved + share.cores;
    if (share.cores != 0 && sum > kAllCores) sums[{sum, share.cores}].push_back(share.index);
  }
  std::vector<std::string> notes;
  for (const auto& [figures, devices] : sums) {
    const auto [sum, own] = figures;
    notes.push_back("cores on " + spans(devices) + " add up to " + std::to_string(sum) +
                    "%: " + std::to_string(own) + "% is " +
                    std::to_string((own * 200 + sum) / (2 * sum)) + "% while all are busy");
  }
  return notes;
}

std::vector<std::string> explain(const Decision& decision) {
  struct Group {
    std::string model;
    std::string text;
    std::vector<unsigned> devices;
  };
  // One line for all devices except the requested one; `divvy gpus` lists their UUIDs.
  const auto others = std::count_if(
      decision.refusals.begin(), decision.refusals.end(),
      [](const Refusal& refusal) { return refusal.why == engine::DeviceWhy::kUuidNotAsked; });
  std::vector<Group> groups;
  for (const Refusal& refusal : decision.refusals) {
    const bool one_of_many = others > 1 && refusal.why == engine::DeviceWhy::kUuidNotAsked;
    const std::string text = one_of_many ? "is not the requested device" : refusal.text();
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
  return wanted <= held || (card.healthy && !card.excluded && wanted - held <= card.free());
}

}  // namespace divvy::agent
