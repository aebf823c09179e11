#include <cstdio>

#include "agent/helper_main.h"

int main(int argc, char** argv) {
  const divvy::Result<void> served = divvy::agent::serveHelper({argv + 1, argv + argc});
  if (served) return 0;
  std::fprintf(stderr, "divvy: %s\n", served.error().message().c_str());
  return served.error().code() == divvy::ErrorCode::kUsage ? 2 : 1;
}
