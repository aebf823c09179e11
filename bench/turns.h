// Tenants that take turns on a card, judged by what the card did. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "judge.h"

namespace divvy::bench {

// A stretch of time in which only one tenant's work ran; pauses of its own are part of it.
struct Turn {
  std::size_t tenant = 0;
  Span span;
};

// In order of time. What is shorter than `least` is no turn: it interrupts nobody's.
std::vector<Turn> turnsOf(const std::vector<Spans>& tenants, CardTime least);

// How often the turn went to each tenant from another one, by tenant.
std::vector<std::size_t> switchesTo(const std::vector<Turn>& turns, std::size_t tenants);

// Seconds: the middle one of all turns but the last of each tenant, which its end cut short. NaN
// without any.
double medianTurn(const std::vector<Turn>& turns);

// Seconds: the longest time within `range` in which nothing of `spans` ran.
double longestPause(const Spans& spans, Span range);

}  // namespace divvy::bench
