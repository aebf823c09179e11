// Placement by trying everything, with a model of its own: shares nothing with the engine but the
// types of questions and answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/decision.h"
#include "engine/pool.h"
#include "engine/request.h"
#include "engine/target.h"

namespace divvy::engine::brute {

struct Card {
  Device is;
  std::int64_t compute = 0, tenants = 0;  // used
  std::vector<Charge> charges;            // whoever has memory here
  std::string pool;                       // empty: none
  std::map<std::string, int> given_in;    // how many are here of each pool

  std::int64_t computeLeft() const { return is.compute.milli - compute; }
  bool promisedOnce() const { return is.terms.overcommit_permille == 1000; }
  // Of memory: what tenants may have, at best and now; what they hold, and of that what is never
  // swapped, contexts outside and the most that one can have swapped.
  std::int64_t most() const, room() const;
  std::int64_t held() const, stays() const, outside() const, largest() const;
  // With the host, while all use all that they hold.
  std::int64_t beyond() const;
};

// What a share would be on that card.
Charge chargeFor(const DeviceRequest& ask, bool context_outside, const Card& card);
// Why its memory does not fit there, if the host has so much left.
std::optional<DeviceRefusal> refuseMemory(const Card& card, const DeviceRequest& ask,
                                          bool context_outside, std::int64_t host_left);
std::int64_t hostLeft(const Node& node, const std::vector<Card>& cards);

struct Machine {
  Node is;
  std::int64_t cpu = 0, memory = 0;  // used
  std::vector<Card> cards;
  std::map<std::string, int> kinds;  // how many requests for "share", "2", ... devices are here
};

class World {
 public:
  void add(const Node& node);
  // From now on; who is there stays.
  void setPools(const std::vector<Pool>& pools);
  // In the pool that it gets; none: it is not for that user, or there is no such pool.
  std::optional<Shape> pooled(const Request& request) const;
  // A card whose tenants came in different pools; empty: none.
  std::string mixed() const;
  void remove(const std::string& name) { machines_.erase(name); }
  void book(const Placement& placement, int sign);
  const std::map<std::string, Machine>& machines() const { return machines_; }

  // Empty: a way exists. Else what is wrong, as the engine should say it.
  std::optional<NodeRefusal> refusal(const Machine& machine, const Shape& shape) const;
  // What is wrong with a placement that was made on the world as it is; empty: nothing.
  std::string faultOf(const Placement& placement, const Shape& shape) const;
  // Anything used beyond what there is; empty: nothing.
  std::string overCapacity() const;

 private:
  void apply(Machine* machine) const;

  std::map<std::string, Machine> machines_;
  std::vector<Pool> pools_;
};

// What cards of a machine are to each other, for a request's policy of devices; sets by place.
struct Together {
  std::optional<NodeWhy> fault;  // they must not be taken for one container
  unsigned wishes = 0;           // that are met
  std::int64_t links = 0;        // the sum of their scores; of one card less for each it has
  std::int64_t distance = 0;     // to the NIC that is asked for, or to the nearest ones
};
Together together(const Node& node, const DevicePolicy& policy, unsigned set);

// Alone on a card of its own.
bool willDo(const Card& card, const DeviceRequest& ask, const Selector& selector);

// The score of the best way to put one container's request there; as published, in floating point.
// Only for requests of one container on machines of one model.
double fgdScore(const Machine& machine, const Shape& shape, const Target& target);
double bestFitScore(const Machine& machine, const Shape& shape);

}  // namespace divvy::engine::brute
