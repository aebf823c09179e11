#include "runtime.h"

extern "C" {
constinit divvy::interposer::Runtime divvy_runtime{};
}
