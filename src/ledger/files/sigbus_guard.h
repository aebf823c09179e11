// Reading and writing a mapping whose file somebody else can truncate at any moment.
#pragma once

#include <cstddef>

namespace divvy::ledger {

// Runs body(context). False when it touched a part of [memory, memory + size) that the file no
// longer backs; it is then left where it stood, by a jump: it must own nothing that needs a
// destructor, must not throw and must not hold a lock. Nests; any number of threads at once. SIGBUS
// for another reason goes to the handler that was there before the first call.
bool runGuarded(const void* memory, std::size_t size, void (*body)(void*), void* context);

template <typename Body>
bool guarded(const void* memory, std::size_t size, Body body) {
  return runGuarded(
      memory, size, [](void* context) { (*static_cast<Body*>(context))(); }, &body);
}

}  // namespace divvy::ledger
