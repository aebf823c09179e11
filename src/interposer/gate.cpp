#include "gate.h"

extern "C" {
constinit std::atomic<std::uint32_t> divvy_gate{0};
}

namespace divvy::interposer {

// Nobody closes the gate in this version; the arbiter's client will wait here.
void waitAtGate() {}

}  // namespace divvy::interposer
