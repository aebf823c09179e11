// What a program in C says that registers by itself, for tests of who may. Source:
// ledger/registration.h.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

struct RegisterPacket {
  uint32_t magic, version;
  char tenant[32];
  uint32_t slot, pid;
  uint64_t generation, reserved;
};

// Of this process, in a slot that it has not taken.
static inline struct RegisterPacket registerPacket(const char* tenant) {
  struct RegisterPacket packet = {0x47525644, 1, "", 7, (uint32_t)getpid(), 1, 0};
  snprintf(packet.tenant, sizeof packet.tenant, "%s", tenant);
  return packet;
}
