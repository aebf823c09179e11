#include "rounded.h"

#include <cfenv>
#include <cmath>

// Compiled with -frounding-math; volatile keeps each operation between the two changes of mode.
namespace divvy::ptxhost {
namespace {

class Mode {
 public:
  explicit Mode(Direction direction) : before_(std::fegetround()) {
    constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kModes[static_cast<int>(direction)]);
  }
  ~Mode() { std::fesetround(before_); }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

 private:
  int before_;
};

template <typename T, typename Operation>
T in(Direction direction, T first, T second, Operation operation) {
  const Mode mode(direction);
  volatile T a = first;
  volatile T b = second;
  volatile T result = operation(a, b);
  return result;
}

template <typename To, typename From>
To converted(Direction direction, From value) {
  const Mode mode(direction);
  volatile From from = value;
  volatile To to = static_cast<To>(from);
  return to;
}

constexpr auto kSum = [](auto a, auto b) { return a + b; };
constexpr auto kProduct = [](auto a, auto b) { return a * b; };
constexpr auto kQuotient = [](auto a, auto b) { return a / b; };
constexpr auto kRoot = [](auto a, auto) { return std::sqrt(a); };

template <typename T>
T fused(Direction direction, T first, T second, T third) {
  const Mode mode(direction);
  volatile T a = first;
  volatile T b = second;
  volatile T c = third;
  volatile T result = std::fma(a, b, c);
  return result;
}

}  // namespace

float sumIn(Direction d, float a, float b) {
  return in(d, a, b, kSum);
}
double sumIn(Direction d, double a, double b) {
  return in(d, a, b, kSum);
}
float productIn(Direction d, float a, float b) {
  return in(d, a, b, kProduct);
}
double productIn(Direction d, double a, double b) {
  return in(d, a, b, kProduct);
}
float quotientIn(Direction d, float a, float b) {
  return in(d, a, b, kQuotient);
}
double quotientIn(Direction d, double a, double b) {
  return in(d, a, b, kQuotient);
}
float rootIn(Direction d, float v) {
  return in(d, v, v, kRoot);
}
double rootIn(Direction d, double v) {
  return in(d, v, v, kRoot);
}
float fusedIn(Direction d, float a, float b, float c) {
  return fused(d, a, b, c);
}
double fusedIn(Direction d, double a, double b, double c) {
  return fused(d, a, b, c);
}

float floatIn(Direction d, int v) {
  return converted<float>(d, v);
}
float floatIn(Direction d, unsigned v) {
  return converted<float>(d, v);
}
float floatIn(Direction d, long long v) {
  return converted<float>(d, v);
}
float floatIn(Direction d, unsigned long long v) {
  return converted<float>(d, v);
}
float floatIn(Direction d, double v) {
  return converted<float>(d, v);
}
double doubleIn(Direction d, long long v) {
  return converted<double>(d, v);
}
double doubleIn(Direction d, unsigned long long v) {
  return converted<double>(d, v);
}

double wholeIn(Direction direction, double v) {
  switch (direction) {
    case Direction::kZero:
      return std::trunc(v);
    case Direction::kDown:
      return std::floor(v);
    case Direction::kUp:
      return std::ceil(v);
    case Direction::kNearest:
      break;
  }
  return std::nearbyint(v);
}

}  // namespace divvy::ptxhost
