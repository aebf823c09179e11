// A program on the card that does what it is told, one line at a time, and answers each line with
// one line: the e2e tests' hand inside a tenant. With an argument it listens to that Unix socket
// instead of its standard input, so that several of them can live in one tenant.
//
//   open                a context on the first device        -> ok CODE
//   alloc BYTES         one block                             -> ok CODE INDEX
//   free INDEX                                                -> ok CODE
//   info                cuMemGetInfo                          -> ok CODE FREE TOTAL
//   check INDEX BYTES   writes a pattern and reads it back    -> ok CODE
//   pid | fork          its pid; a child that exits at once   -> ok PID
//   churn COUNT         COUNT times alloc and free of 1 MiB   -> ok FAILED
//   sync                cuCtxSynchronize                      -> ok CODE
//   exit                                                      -> ends
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long CUdeviceptr;

static struct {
  int (*init)(unsigned);
  int (*deviceGet)(int*, int);
  int (*ctxCreate)(void**, unsigned, int);
  int (*ctxSynchronize)(void);
  int (*memGetInfo)(size_t*, size_t*);
  int (*memAlloc)(CUdeviceptr*, size_t);
  int (*memFree)(CUdeviceptr);
  int (*copyHtoD)(CUdeviceptr, const void*, size_t);
  int (*copyDtoH)(void*, CUdeviceptr, size_t);
} cu;

enum { kMaxBlocks = 1024, kNoEntry = 500 };

static CUdeviceptr blocks[kMaxBlocks];
static size_t block_count;

static int bindEntries(void) {
  static const struct {
    const char* name;
    void* slot;
  } kEntries[] = {
      {"cuInit", &cu.init},
      {"cuDeviceGet", &cu.deviceGet},
      {"cuCtxCreate_v2", &cu.ctxCreate},
      {"cuCtxSynchronize", &cu.ctxSynchronize},
      {"cuMemGetInfo_v2", &cu.memGetInfo},
      {"cuMemAlloc_v2", &cu.memAlloc},
      {"cuMemFree_v2", &cu.memFree},
      {"cuMemcpyHtoD_v2", &cu.copyHtoD},
      {"cuMemcpyDtoH_v2", &cu.copyDtoH},
  };
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return kNoEntry;
  for (size_t i = 0; i < sizeof kEntries / sizeof *kEntries; ++i) {
    void* entry = dlsym(library, kEntries[i].name);
    if (!entry) return kNoEntry;
    memcpy(kEntries[i].slot, &entry, sizeof entry);
  }
  return 0;
}

static int openContext(void) {
  int device = 0;
  void* context = NULL;
  int code = bindEntries();
  if (code == 0) code = cu.init(0);
  if (code == 0) code = cu.deviceGet(&device, 0);
  return code != 0 ? code : cu.ctxCreate(&context, 0, device);
}

static int checkBlock(size_t index, size_t bytes) {
  unsigned char* out = malloc(bytes);
  unsigned char* in = malloc(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = (unsigned char)(i * 31 + index);
  memset(in, 0, bytes);
  int code = cu.copyHtoD(blocks[index], out, bytes);
  if (code == 0) code = cu.copyDtoH(in, blocks[index], bytes);
  if (code == 0 && memcmp(in, out, bytes) != 0) code = -1;
  free(out);
  free(in);
  return code;
}

static int churn(long count) {
  int failed = 0;
  for (long i = 0; i < count; ++i) {
    CUdeviceptr block = 0;
    failed += cu.memAlloc(&block, 1 << 20) != 0 || cu.memFree(block) != 0;
  }
  return failed;
}

static int forkChild(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return (int)child;
}

static void obey(const char* verb, size_t first, size_t second, FILE* out) {
  if (strcmp(verb, "open") == 0) {
    fprintf(out, "ok %d\n", openContext());
  } else if (strcmp(verb, "alloc") == 0 && block_count < kMaxBlocks) {
    const int code = cu.memAlloc(&blocks[block_count], first);
    fprintf(out, "ok %d %zu\n", code, block_count);
    block_count += code == 0;
  } else if (strcmp(verb, "free") == 0 && first < block_count) {
    fprintf(out, "ok %d\n", cu.memFree(blocks[first]));
  } else if (strcmp(verb, "info") == 0) {
    size_t free_bytes = 0, total = 0;
    const int code = cu.memGetInfo(&free_bytes, &total);
    fprintf(out, "ok %d %zu %zu\n", code, free_bytes, total);
  } else if (strcmp(verb, "check") == 0 && first < block_count) {
    fprintf(out, "ok %d\n", checkBlock(first, second));
  } else if (strcmp(verb, "pid") == 0) {
    fprintf(out, "ok %d\n", (int)getpid());
  } else if (strcmp(verb, "fork") == 0) {
    fprintf(out, "ok %d\n", forkChild());
  } else if (strcmp(verb, "churn") == 0) {
    fprintf(out, "ok %d\n", churn((long)first));
  } else if (strcmp(verb, "sync") == 0) {
    fprintf(out, "ok %d\n", cu.ctxSynchronize());
  } else {
    fprintf(out, "unknown %s\n", verb);
  }
  fflush(out);
}

static int connectTo(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection, (struct sockaddr*)&address, sizeof address) == 0) return connection;
  perror("hand: connect");
  exit(1);
}

int main(int argc, char** argv) {
  FILE* in = stdin;
  FILE* out = stdout;
  if (argc == 2) {
    const int connection = connectTo(argv[1]);
    in = fdopen(connection, "r");
    out = fdopen(dup(connection), "w");
  }
  char line[128];
  while (fgets(line, sizeof line, in)) {
    char verb[32] = "";
    size_t first = 0, second = 0;
    sscanf(line, "%31s %zu %zu", verb, &first, &second);
    if (strcmp(verb, "exit") == 0) return 0;
    obey(verb, first, second, out);
  }
  return 0;
}
