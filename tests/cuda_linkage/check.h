// The clients' own bookkeeping: an error ends the program with its name, a wrong answer is printed
// and remembered. Output is the same on every run, so that two runs can be compared byte for byte.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Ends the program with status 1 when `result` is not success.
static inline void must(int result, const char* what) {
  if (result == 0) return;
  printf("FAILED %s: error %d\n", what, result);
  fflush(stdout);
  exit(1);
}

// One line per fact; returns 1 when it is wrong, so that failures can be summed.
static inline int report(const char* what, uint64_t got, uint64_t wanted) {
  const int wrong = got != wanted;
  printf("%-28s %016llx %s\n", what, (unsigned long long)got, wrong ? "WRONG" : "ok");
  if (wrong) printf("%-28s %016llx wanted\n", what, (unsigned long long)wanted);
  return wrong;
}

// FNV-1a over 32-bit words: order matters, so swapped or shifted bytes show.
static inline uint64_t digest(const uint32_t* words, size_t count) {
  uint64_t hash = 14695981039346656037ULL;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ words[i]) * 1099511628211ULL;
  return hash;
}

static inline void pattern(uint32_t* words, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) words[i] = (uint32_t)i * 2654435761u + seed;
}

static inline uint64_t patternDigest(size_t count, uint32_t seed) {
  uint64_t hash = 14695981039346656037ULL;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ ((uint32_t)i * 2654435761u + seed)) * 1099511628211ULL;
  return hash;
}
