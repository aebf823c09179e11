// Access to a mapping of a file that another process can truncate at any moment.
#pragma once

#include <cstddef>

namespace divvy::ledger {

// Runs body(context). Returns false if it touched a part of [memory, memory + size) that the file
// no longer backs. A jump then leaves the body at that point. So the body must not own anything
// that needs a destructor, throw, or hold a lock. Calls may nest; any number of threads may call it
// at once. SIGBUS for another reason goes to the handler that was installed before the first call.
bool runGuarded(const void* memory, std::size_t size, void (*body)(void*), void* context);

template <typename Body>
bool guarded(const void* memory, std::size_t size, Body body) {
  return runGuarded(
      memory, size, [](void* context) { (*static_cast<Body*>(context))(); }, &body);
}

}  // namespace divvy::ledger
