// Several programs on one card of their own, bare or as Divvy's tenants, and what the card did.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge.h"
#include "stalls.h"

namespace divvy::bench {

// Where cards are made.
struct CardFloor {
  std::filesystem::path build;        // build/<preset>
  std::filesystem::path private_dir;  // an empty directory of ours
  std::string profile = "h100";
  bool real = false;  // this machine's own card: `profile` and `speed_permille` mean nothing
  int speed_permille = 1000;           // of the simulated card's clock
  const StallWatch* stalls = nullptr;  // nullptr: time never stands still
};

struct CardTenant {
  std::string name;
  std::vector<std::string> load;   // kind and options of divvy-bench-load
  std::vector<std::string> share;  // options of `divvy run`
  std::string memory = "4Gi";      // what it asks for
};

struct CardPlan {
  std::string name;  // of its directory: letters, digits, - and _
  std::vector<CardTenant> tenants;
  bool divvied = false;
  double seconds = 1;  // that the loads will take, of the card's time: for a limit
  std::vector<std::string> environment = {};  // NAME=VALUE, of the agent too
};

// All times by a clock that stands still while the machine does.
struct TenantRecord {
  Spans spans;  // on the compute engine
  CardTime begin = 0;
  CardTime end = 0;
  CardTime worked = 0;  // when the work of a load with memory had ended
  std::uint64_t launches = 0;
  std::uint64_t mismatched = 0;  // bytes of its memory
  std::uint64_t read_bytes = 0;  // that it copied off the card itself
  std::uint64_t out_bytes = 0;   // that the card copied to the host for it
  std::uint64_t in_bytes = 0;
  Spans copying;  // on the copy engines
  std::vector<CardTime> resumed;
  std::vector<CardTime> rested;
  std::vector<CardTime> arrived;  // requests, as scheduled; the next two likewise
  std::vector<Request> requests;
  double divvy_ms = 0;  // processor time of Divvy's own threads within it
};

struct CardRecord {
  std::vector<TenantRecord> tenants;
  std::uint64_t peak_bytes = 0;     // most that was ever taken of a simulated card
  std::uint64_t taken_at_work = 0;  // times that its memory went away under work
  // Processor time of the agent's threads, by name; at full speed only.
  std::map<std::string, double> agent_ms;
  Span whole() const;  // in which all loads were at it
};

// Throws std::runtime_error when a program fails, takes far too long, or the card's log has holes.
CardRecord runOnCard(const CardFloor& floor, const CardPlan& plan);

// All of `plans`, up to `side_by_side` at a time, each on a card of its own. The outcome of plan i
// is at i: a record, or none and why.
struct CardOutcome {
  std::optional<CardRecord> record;
  std::string failure;
};
std::vector<CardOutcome> runOnCards(const CardFloor& floor, const std::vector<CardPlan>& plans,
                                    unsigned side_by_side);

}  // namespace divvy::bench
