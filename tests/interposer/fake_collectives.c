/* Stands for NCCL: a library of that name that asks for memory with its own code. Built once as
   libnccl.so.2 and once by a name that is only like it. */
#include <stddef.h>

typedef int (*Plain)(unsigned long long* out, size_t bytes);
typedef int (*Async)(unsigned long long* out, size_t bytes, void* stream);
typedef int (*Create)(unsigned long long* handle, size_t bytes, const void* props,
                      unsigned long long flags);

/* volatile: so that none of them is a tail call, after which nobody could tell who called. */
__attribute__((visibility("default"))) int fakePlain(Plain allocate, unsigned long long* out,
                                                     size_t bytes) {
  volatile int result = allocate(out, bytes);
  return result;
}

__attribute__((visibility("default"))) int fakeAsync(Async allocate, unsigned long long* out,
                                                     size_t bytes, void* stream) {
  volatile int result = allocate(out, bytes, stream);
  return result;
}

__attribute__((visibility("default"))) int fakeCreate(Create create, unsigned long long* handle,
                                                      size_t bytes, const void* props) {
  volatile int result = create(handle, bytes, props, 0);
  return result;
}
