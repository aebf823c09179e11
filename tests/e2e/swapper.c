// Fills memory with a pattern, has kernels change all of it again and again, and says at the end
// whether every word is what it has to be: the hand of the oversubscription tests, told one line at
// a time over a Unix socket. CODE is 0 or the first driver error.
//
//   open                 a context on the first device              -> ok CODE
//   fill BLOCKS BYTES    so many more blocks, all of so many bytes  -> ok CODE
//   more BYTES           one more that nothing is done with         -> ok CODE
//   pin BYTES            one that is never swapped                  -> ok CODE
//   work US              adds to every word, then computes for US of the card, until `rest` -> ok 0
//   rounds               how often that happened                    -> ok ROUNDS
//   rest                 ends `work`                                -> ok CODE ROUNDS
//   verify               reads all back                             -> ok CODE WRONG_WORDS
//   arrays COUNT         so many arrays of 2 MiB, which stay        -> ok CODE
//   intact               reads these back                           -> ok CODE WRONG_WORDS
//   name BLOCK           by which others may open it, in hex        -> ok CODE NAME
//   opens NAME           opens a block of another process, by name -> ok CODE
//   deaf                 ignores SIGTERM from now on                -> ok 0
//   pid | exit
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "arrays.h"
#include "busy_driver.h"

enum { kMaxBlocks = 1024, kAdded = 40503 };

typedef unsigned long long Number;

static struct Place place;
static CUdeviceptr blocks[kMaxBlocks];
static size_t block_count, block_words;
static unsigned born[kMaxBlocks];  // rounds that were over when a block was made
static pthread_t worker;
static Number worker_us;
static atomic_bool working, stop;
static atomic_ullong rounds;
static int worker_code;

static int openDevice(void) {
  int device = 0;
  int code = bindDriver();
  if (code == 0) code = cu.deviceGet(&device, 0);
  if (code == 0) code = cu.primaryRetain(&place.context, device);
  if (code == 0) code = cu.ctxSetCurrent(place.context);
  return code == 0 ? loadKernels(&place) : code;
}

static unsigned patternAt(size_t block, size_t word) {
  return (unsigned)(block * 2654435761u + word * 2246822519u + 374761393u);
}

static int fill(size_t count, size_t bytes) {
  unsigned* words = malloc(bytes);
  const size_t end = block_count + count;
  int code = words == NULL || end > kMaxBlocks ? -1 : 0;
  block_words = bytes / sizeof *words;
  for (size_t i = block_count; i < end && code == 0; ++i) {
    born[i] = (unsigned)rounds;
    code = cu.memAlloc(&blocks[i], bytes);
    for (size_t word = 0; word < block_words; ++word) words[word] = patternAt(i, word);
    if (code == 0) code = cu.copyHtoD(blocks[i], words, bytes);
    block_count += code == 0;
  }
  free(words);
  return code;
}

static void* workerMain(void* argument) {
  (void)argument;
  int code = cu.ctxSetCurrent(place.context);
  while (code == 0 && !stop) {
    for (size_t i = 0; i < block_count && code == 0; ++i)
      code = launchAdd(&place, NULL, blocks[i], block_words, kAdded);
    if (code == 0) code = launchSpin(&place, NULL, worker_us);
    if (code == 0) code = cu.ctxSynchronize();
    rounds += code == 0;
  }
  worker_code = code;
  return NULL;
}

static int work(Number us) {
  worker_us = us;
  stop = 0;
  working = pthread_create(&worker, NULL, workerMain, NULL) == 0;
  return working ? 0 : -1;
}

static int rest(void) {
  stop = 1;
  if (working) pthread_join(worker, NULL);
  working = 0;
  return worker_code;
}

static int verify(Number* wrong) {
  unsigned* words = malloc(block_words * sizeof *words);
  int code = words == NULL ? -1 : 0;
  for (size_t i = 0; i < block_count && code == 0; ++i) {
    code = cu.copyDtoH(words, blocks[i], block_words * sizeof *words);
    for (size_t word = 0; word < block_words && code == 0; ++word)
      *wrong += words[word] != patternAt(i, word) + ((unsigned)rounds - born[i]) * kAdded;
  }
  free(words);
  return code;
}

static void tellName(size_t block, FILE* out) {
  struct IpcName name = {{0}};
  const int code = block < block_count ? cu.ipcGet(&name, blocks[block]) : -1;
  fprintf(out, "ok %d ", code);
  for (size_t i = 0; i < sizeof name.bytes; ++i) fprintf(out, "%02x", name.bytes[i]);
  fputc('\n', out);
}

static int openNamed(const char* hex) {
  struct IpcName name = {{0}};
  CUdeviceptr there = 0;
  for (size_t i = 0; i < sizeof name.bytes; ++i)
    if (sscanf(hex + 2 * i, "%2hhx", &name.bytes[i]) != 1) return -1;
  return cu.ipcOpen(&there, name, kLazyPeerAccess);
}

static void obey(const char* line, FILE* out) {
  char verb[32] = "";
  Number first = 0, second = 0, wrong = 0;
  CUdeviceptr more = 0;
  sscanf(line, "%31s %llu %llu", verb, &first, &second);
  if (strcmp(verb, "exit") == 0) exit(0);
  if (strcmp(verb, "pid") == 0) fprintf(out, "ok %d\n", (int)getpid());
  if (strcmp(verb, "open") == 0) fprintf(out, "ok %d\n", openDevice());
  if (strcmp(verb, "fill") == 0) fprintf(out, "ok %d\n", fill(first, second));
  if (strcmp(verb, "more") == 0) fprintf(out, "ok %d\n", cu.memAlloc(&more, first));
  if (strcmp(verb, "pin") == 0)
    fprintf(out, "ok %d\n", cu.memAllocManaged(&more, first, kAttachGlobal));
  if (strcmp(verb, "work") == 0) fprintf(out, "ok %d\n", work(first));
  if (strcmp(verb, "rounds") == 0) fprintf(out, "ok %llu\n", (Number)rounds);
  if (strcmp(verb, "deaf") == 0) fprintf(out, "ok %d\n", signal(SIGTERM, SIG_IGN) == SIG_ERR);
  if (strcmp(verb, "name") == 0) tellName(first, out);
  if (strcmp(verb, "opens") == 0 && strlen(line) > sizeof "opens" + 2 * sizeof(struct IpcName))
    fprintf(out, "ok %d\n", openNamed(line + sizeof "opens"));
  if (strcmp(verb, "rest") == 0) {
    const int code = rest();
    fprintf(out, "ok %d %llu\n", code, (Number)rounds);
  }
  if (strcmp(verb, "verify") == 0) {
    const int code = verify(&wrong);
    fprintf(out, "ok %d %llu\n", code, wrong);
  }
  if (strcmp(verb, "arrays") == 0) fprintf(out, "ok %d\n", makeArrays(first));
  if (strcmp(verb, "intact") == 0) {
    const int code = verifyArrays(&wrong);
    fprintf(out, "ok %d %llu\n", code, wrong);
  }
  fflush(out);
}

int main(int argc, char** argv) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char line[256];
  if (argc != 2) return 2;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(connection, (struct sockaddr*)&address, sizeof address) != 0) {
    perror("swapper: connect");
    return 1;
  }
  FILE* in = fdopen(connection, "r");
  FILE* out = fdopen(dup(connection), "w");
  while (fgets(line, sizeof line, in)) obey(line, out);
  return 0;
}
