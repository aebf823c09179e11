// Atomic operations: plain ones here, because fibers hand on only at collectives.
#pragma once

#include <algorithm>
#include <type_traits>

namespace divvy::ptxhost {

template <typename T>
using Same = std::type_identity_t<T>;

template <typename T>
T replaced(T* cell, T value) {
  const T old = *cell;
  *cell = value;
  return old;
}

}  // namespace divvy::ptxhost

inline void __threadfence() {}

template <typename T>
T atomicAdd(T* cell, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, static_cast<T>(*cell + value));
}
template <typename T>
T atomicSub(T* cell, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, static_cast<T>(*cell - value));
}
template <typename T>
T atomicExch(T* cell, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, value);
}
template <typename T>
T atomicMin(T* cell, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, std::min(*cell, value));
}
template <typename T>
T atomicMax(T* cell, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, std::max(*cell, value));
}
template <typename T>
T atomicAnd(T* cell, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, *cell & value);
}
template <typename T>
T atomicOr(T* cell, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, *cell | value);
}
template <typename T>
T atomicXor(T* cell, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, *cell ^ value);
}
template <typename T>
T atomicCAS(T* cell, divvy::ptxhost::Same<T> expected, divvy::ptxhost::Same<T> value) {
  return divvy::ptxhost::replaced(cell, *cell == expected ? value : *cell);
}
// Counts up to `last` and starts again at zero.
inline unsigned atomicInc(unsigned* cell, unsigned last) {
  return divvy::ptxhost::replaced(cell, *cell >= last ? 0U : *cell + 1);
}
// Counts down from `last`; zero and what is above `last` start again.
inline unsigned atomicDec(unsigned* cell, unsigned last) {
  return divvy::ptxhost::replaced(cell, *cell == 0 || *cell > last ? last : *cell - 1);
}
