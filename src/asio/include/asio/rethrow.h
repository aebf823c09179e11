// How a coroutine's exception leaves the event loop.
#pragma once

#include <exception>

namespace divvy {

// Completion handler of co_spawn: throws a coroutine's exception out of the loop's run(). A program
// must not go on after a part of it has failed. Called on the loop's thread.
inline void rethrow(std::exception_ptr fault) {
  if (fault) std::rethrow_exception(fault);
}

}  // namespace divvy
