/* Stands below libdivvy-timeslice.so in tests: an ioctl that keeps a list of what reached it and
   answers as it was told. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "fake_rm.h"

static struct FakeCall calls[FAKE_CALLS];
static unsigned count;
static int next_result;
static unsigned slice_status;

__attribute__((visibility("default"))) const struct FakeCall* fake_calls(unsigned* how_many) {
  *how_many = count;
  return calls;
}
__attribute__((visibility("default"))) void fake_forget(void) {
  count = 0;
}
__attribute__((visibility("default"))) void fake_fail(int error) {
  next_result = error;
}
__attribute__((visibility("default"))) void fake_slice_status(unsigned status) {
  slice_status = status;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  struct FakeCall* call = &calls[count++ % FAKE_CALLS];
  memset(call, 0, sizeof *call);
  call->fd = fd;
  call->request = request;
  call->argument = argument;
  /* A control of 32 bytes: client, object, command, flags, params, size, status. */
  if ((request & 0xffff) == 0x462a && (request >> 16 & 0x3fff) == 32) {
    unsigned* words = argument;
    call->client = words[0];
    call->object = words[1];
    call->command = words[2];
    if (call->command == 0xa06c0103) {
      unsigned long long* params;
      memcpy(&params, words + 4, sizeof params);
      call->micros = *params;
      words[7] = slice_status;
    }
  }
  if (next_result == 0) return 0;
  errno = next_result;
  next_result = 0;
  return -1;
}
