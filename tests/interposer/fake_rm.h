/* What fake_rm.c tells about the calls that reached it. */
#pragma once

#define FAKE_CALLS 64

struct FakeCall {
  int fd;
  unsigned long request;
  void* argument;
  unsigned client, object, command; /* of a control */
  unsigned long long micros;        /* of a control that sets a time slice */
};

#ifdef __cplusplus
extern "C" {
#endif
const struct FakeCall* fake_calls(unsigned* how_many);
void fake_forget(void);
void fake_fail(int error);               /* the next call fails with this errno */
void fake_slice_status(unsigned status); /* what setting a slice answers from now on */
#ifdef __cplusplus
}
#endif
