// Arithmetic of the host's processor in a direction of rounding.
#pragma once

namespace divvy::ptxhost {

enum class Direction { kNearest, kZero, kDown, kUp };

inline constexpr Direction kRn = Direction::kNearest;
inline constexpr Direction kRz = Direction::kZero;
inline constexpr Direction kRd = Direction::kDown;
inline constexpr Direction kRu = Direction::kUp;

float sumIn(Direction direction, float a, float b);
double sumIn(Direction direction, double a, double b);
float productIn(Direction direction, float a, float b);
double productIn(Direction direction, double a, double b);
float quotientIn(Direction direction, float a, float b);
double quotientIn(Direction direction, double a, double b);
float rootIn(Direction direction, float v);
double rootIn(Direction direction, double v);
// a * b + c, rounded once.
float fusedIn(Direction direction, float a, float b, float c);
double fusedIn(Direction direction, double a, double b, double c);

float floatIn(Direction direction, int v);
float floatIn(Direction direction, unsigned v);
float floatIn(Direction direction, long long v);
float floatIn(Direction direction, unsigned long long v);
float floatIn(Direction direction, double v);
double doubleIn(Direction direction, long long v);
double doubleIn(Direction direction, unsigned long long v);

// The whole number next to `v`; kNearest takes the even one of two.
double wholeIn(Direction direction, double v);

}  // namespace divvy::ptxhost

// For the intrinsics, which stand in the global namespace as in CUDA.
namespace host = divvy::ptxhost;
