#include "nodes/pools.h"

#include <algorithm>
#include <set>

#include "base/model_name.h"
#include "engine/selection.h"
#include "nodes/shape_class.h"

namespace divvy::engine {
namespace {

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

template <typename List, typename One>
bool among(const List& list, const One& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

bool isMember(const Members& members, const Node& node, const Device& device) {
  const auto labelled = [&](const Label& label) { return among(node.labels, label); };
  if (!std::all_of(members.labels.begin(), members.labels.end(), labelled)) return false;
  if (!members.nodes.empty() && !among(members.nodes, node.name)) return false;
  if (!members.models.empty() && !namesModel(members.models, members.match, device.model))
    return false;
  return members.uuids.empty() || namesDevice(members.uuids, members.uuid_match, device.uuid);
}

void apply(const Pool& pool, Device* device) {
  const bool fixed =
      device->mode == Mode::kMig || device->mode == Mode::kExternal || device->mode == Mode::kWhole;
  if (pool.mode && !fixed) device->mode = *pool.mode;
  if (pool.overcommit_permille && device->parting == nullptr)
    device->terms.overcommit_permille = *pool.overcommit_permille;
}

template <typename Names>
bool anyEmpty(const Names& names) {
  return std::any_of(names.begin(), names.end(), [](const auto& one) { return one.empty(); });
}

Result<void> checkMembers(const std::string& who, const Members& members) {
  const auto keyless = [](const Label& label) { return label.key.empty(); };
  if (std::any_of(members.labels.begin(), members.labels.end(), keyless))
    return usage(who + ": a label without a key; accepted: a key and its value");
  if (anyEmpty(members.nodes) || anyEmpty(members.models) || anyEmpty(members.uuids))
    return usage(who + ": a node, model or UUID without a name; accepted: a name, or no list");
  if (members.match == ModelMatch::kWords)
    for (const ModelName& model : members.models)
      if (!isModelPattern(model.text))
        return usage(who + ": model \"" + model.text +
                     "\" has no letter or digit; accepted: " + std::string(kModelPatterns));
  return {};
}

Result<void> checkPool(const std::string& who, const Pool& pool) {
  const Result<void> members = checkMembers(who, pool.members);
  if (!members) return members;
  if (pool.mode && *pool.mode != Mode::kShared && *pool.mode != Mode::kExclusive)
    return usage(who + ": a mode that no pool can give; accepted: shared, exclusive");
  if (anyEmpty(pool.users) || anyEmpty(pool.default_of))
    return usage(who + ": a user without a name; accepted: a name, or no list");
  for (const UserName& user : pool.default_of)
    if (!pool.users.empty() && !among(pool.users, user))
      return usage(who + ": the default of " + user.text +
                   ", which may not use it; accepted: one " + "of its users");
  Shape shape;
  shape.devices = pool.devices;
  shape.weights = pool.weights;
  if (Result<void> right = checkShape(shape); !right) return Error(right.error()).context(who);
  OvercommitPolicy terms;
  terms.overcommit_permille = pool.overcommit_permille.value_or(kNoOvercommit);
  return checkTerms(who, terms);
}

// "a, b"
template <typename List>
std::string listOf(const List& list) {
  std::string all;
  for (const std::string& one : list) all += (all.empty() ? "" : ", ") + one;
  return all;
}

}  // namespace

Result<void> checkPools(const std::vector<Pool>& pools) {
  if (pools.size() > kMaxPools)
    return usage(std::to_string(pools.size()) + " pools; accepted: at most " +
                 std::to_string(kMaxPools));
  std::set<PoolName> names;
  std::set<UserName> users;
  for (const Pool& pool : pools) {
    if (pool.name.empty()) return usage("a pool without a name");
    const std::string who = "pool " + pool.name.text;
    if (!names.insert(pool.name).second) return usage(who + ": twice; accepted: each name once");
    if (Result<void> right = checkPool(who, pool); !right) return right;
    for (const UserName& user : pool.default_of)
      if (!users.insert(user).second)
        return usage(who + ": the default of " + user.text +
                     ", which has one; accepted: one default for each user");
  }
  return {};
}

const Pool* Pools::find(const PoolName& name) const {
  const auto at = std::find_if(pools_.begin(), pools_.end(),
                               [&](const Pool& pool) { return pool.name == name; });
  return at == pools_.end() ? nullptr : &*at;
}

const Pool* Pools::of(const Node& node, const Device& device) const {
  const auto at = std::find_if(pools_.begin(), pools_.end(), [&](const Pool& pool) {
    return isMember(pool.members, node, device);
  });
  return at == pools_.end() ? nullptr : &*at;
}

Node Pools::applied(Node node) const {
  for (Device& device : node.devices)
    if (const Pool* pool = of(node, device)) apply(*pool, &device);
  return node;
}

bool Pools::mayUse(const UserName& user, const Pool& pool) const {
  return pool.users.empty() || among(pool.users, user);
}

Result<const Shape*> Pools::shapeFor(const Request& request, Shape* made) const {
  const Shape& shape = request.shape;
  if (!shape.pool) {
    for (const Pool& pool : pools_) {
      if (!among(pool.default_of, request.user)) continue;
      *made = shape;
      made->pool = pool.name;
      return made;
    }
    return &shape;
  }
  if (shape.pool->empty()) return &shape;
  const Pool* pool = find(*shape.pool);
  if (pool != nullptr && mayUse(request.user, *pool)) return &shape;
  std::vector<std::string> open;
  for (const Pool& one : pools_)
    if (mayUse(request.user, one)) open.push_back(one.name.text);
  const std::string accepted = open.empty() ? "no pool" : listOf(open) + ", or no pool";
  if (pool == nullptr)
    return usage("no pool is called \"" + shape.pool->text + "\"; accepted: " + accepted);
  const std::string who = request.user.empty() ? "a user without a name" : request.user.text;
  return usage("pool " + pool->name.text + " is not for " + who + "; accepted: " + accepted);
}

Config Pools::configFor(const Shape& shape, const Config& config) const {
  Config result = config;
  const Pool* pool = shape.pool ? find(*shape.pool) : nullptr;
  if (pool == nullptr) return result;
  result.policy = pool->policy.value_or(config.policy);
  result.devices = pool->devices.value_or(config.devices);
  result.weights = pool->weights.value_or(config.weights);
  return result;
}

}  // namespace divvy::engine
