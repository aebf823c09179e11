// card DIR INDEX: the books of a simulated card, as the card keeps them, for demo and tests.
#include <cstdio>
#include <cstdlib>

#include "simgpu/card_reader.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: card DIR INDEX\n", stderr);
    return 2;
  }
  const auto card = divvy::simgpu::readCard(argv[1], std::atoi(argv[2]));
  if (!card) {
    std::fprintf(stderr, "card: no simulated card %s in %s\n", argv[2], argv[1]);
    return 1;
  }
  std::printf("{\"capacity\": %llu, \"used\": %llu, \"peak\": %llu, \"processes\": [",
              static_cast<unsigned long long>(card->capacity),
              static_cast<unsigned long long>(card->used),
              static_cast<unsigned long long>(card->peak));
  const char* separator = "";
  for (const auto& process : card->processes) {
    std::printf("%s{\"pid\": %d, \"bytes\": %llu, \"contexts\": %d}", separator, process.pid,
                static_cast<unsigned long long>(process.bytes), process.contexts);
    separator = ", ";
  }
  std::puts("]}");
  return 0;
}
