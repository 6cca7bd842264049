/* SPDX-License-Identifier: Apache-2.0
 * Writes the log file of a probe. The file consists of a header and chunks of 16 KiB. A thread
 * takes a whole chunk under the mutex. Then it appends records to this chunk without any lock,
 * because no other thread writes to the chunk. When the thread ends, its chunk goes to a list of
 * free chunks, and another thread continues it.
 *
 * The whole file is mapped once, up to the size limit; disk space is reserved in steps of 16 chunks
 * as it is needed. `used` of a chunk counts the bytes of complete records, and it grows only after
 * a record is complete. So a killed process never leaves half a record. */
#define _GNU_SOURCE
#include "probes/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probes/log/identity.h"

enum {
  kVersion = 1,
  kHeaderBytes = 4096,
  kChunkBytes = 16384,
  kChunksReserved = 16, /* chunks per reservation: 256 KiB */
  kFreeKept = 1024,     /* list of free chunks: if it is full, a chunk stays partly empty */
};
enum state { kRecording = 0, kClosed = 1, kNoSpace = 2, kLimit = 3 };

static const int64_t kDefaultLimit = (int64_t)256 << 20;
static const uint32_t kChunkMagic = 0x4b4e4357; /* "WCNK" */

/* The layout of docs/formats/log.md; all numbers are little-endian. */
struct header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint32_t chunk_bytes;
  uint32_t kind;
  int64_t pid;
  int32_t rank;
  int32_t world;
  int64_t opened_realtime, opened_monotonic;
  int64_t closed_realtime, closed_monotonic;
  _Atomic uint32_t state;
  _Atomic uint32_t chunks;
  _Atomic uint64_t lost;
  char role[32];
  char host[256];
};
_Static_assert(sizeof(struct header) <= kHeaderBytes, "the header is one page");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "logs are little endian");

struct chunk {
  _Atomic uint32_t magic; /* 0 until a thread takes the chunk */
  _Atomic uint32_t used;  /* bytes of complete records after this struct */
  int64_t base;           /* base time of the first record */
};
enum { kRoom = kChunkBytes - (int)sizeof(struct chunk) };

/* A chunk whose thread has ended, so that another thread may continue it. `last` is the time of its
 * last record. */
struct leftover {
  uint32_t number;
  int64_t last;
};

static struct {
  enum weft_log_kind kind;
  bool configured;
  bool failed; /* the file could not be created or extended: record nothing more */
  char folder[PATH_MAX];
  char path[PATH_MAX + 400];
  int64_t limit;
  struct weft_identity who;
  pthread_mutex_t mutex; /* protects everything below */
  pthread_key_t thread_end;
  struct header* _Atomic header; /* NULL until the first record */
  size_t mapped;                 /* bytes */
  dev_t device;
  ino_t inode;
  uint32_t chunks, reserved, most; /* chunks in use, reserved on disk, allowed by the limit */
  uint32_t generation;             /* number of forks; a chunk with another value is the parent's */
  struct leftover free[kFreeKept];
  uint32_t free_count;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The chunk of this thread. `busy` is true during an append. If a signal handler interrupts the
 * append and tries to append too, it sees `busy` and does nothing. */
static __thread struct {
  struct chunk* chunk;
  uint32_t number;
  uint32_t generation;
  int64_t last;
  bool busy;
} mine;

_Atomic bool weft_log_open_window;
void (*weft_log_after_fork)(void);

static const char* kind_name(void) {
  static const char* const names[] = {"", "wire", "mpi", "nccl"};
  return names[state.kind];
}

void weft_put_bytes(struct weft_fields* f, const void* bytes, size_t size) {
  if (f->size + size > WEFT_FIELDS_MAX) {
    f->overflow = true;
    return;
  }
  memcpy(f->bytes + f->size, bytes, size);
  f->size += (uint32_t)size;
}

void weft_put_text(struct weft_fields* f, const char* text) {
  const size_t length = text == NULL ? 0 : strnlen(text, 255);
  weft_put(f, length);
  if (length > 0) weft_put_bytes(f, text, length);
}

/* -- the file ------------------------------------------------------------------------------- */

static int64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Opens the log file again, to reserve or truncate it. Returns -1 if the path is no longer the file
 * that open_file() created: the job may have moved it or put another file there. */
static int reopen(void) {
  const int fd = open(state.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  struct stat now;
  if (fd < 0) return -1;
  if (fstat(fd, &now) == 0 && now.st_dev == state.device && now.st_ino == state.inode) return fd;
  close(fd);
  return -1;
}

/* Reserves disk space up to `size` bytes. Checks the limit on file sizes first, because exceeding
 * it raises SIGXFSZ, which would end the job. */
static bool reserve_bytes(int fd, int64_t size) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
      (uint64_t)size > most.rlim_cur) {
    return false;
  }
  int error;
  do {
    error = posix_fallocate(fd, 0, size);
  } while (error == EINTR);
  return error == 0;
}

static int64_t bytes_of(uint32_t chunks) { return kHeaderBytes + (int64_t)chunks * kChunkBytes; }

/* Stops recording for good and notes the reason in the header. */
static void stop(enum state why) {
  struct header* header = atomic_load(&state.header);
  state.failed = true;
  if (header != NULL) atomic_store(&header->state, why);
}

/* Reports errno on stderr and stops recording. A probe prints no other message about the log. */
static bool give_up(const char* what) {
  const int error = errno;
  state.failed = true;
  dprintf(STDERR_FILENO, "weft: no %s recording of process %d: %s: %s\n", kind_name(),
          (int)getpid(), what, strerror(error));
  return false;
}

/* Creates the file and sets state.path. The file is named by rank. If the rank is unknown, or
 * another process of the same rank has that file, it is named by host and pid; if that file exists
 * too (because a pid was reused), it is named by host, pid and time. The logs of the wire probe are
 * always named by host and pid, because any helper process of a rank may write such a log. */
static int create(const char* host) {
  const int pid = (int)getpid();
  const bool by_rank = state.kind != WEFT_LOG_WIRE && state.who.rank >= 0;
  for (int try = by_rank ? 0 : 1; try < 3; ++try) {
    char name[320];
    if (try == 0) snprintf(name, sizeof name, "r%d", state.who.rank);
    if (try == 1) snprintf(name, sizeof name, "%s-%d", host, pid);
    if (try == 2) snprintf(name, sizeof name, "%s-%d-%lld", host, pid, (long long)weft_now());
    snprintf(state.path, sizeof state.path, "%s/%s.%s.weftlog", state.folder, name, kind_name());
    const int fd = open(state.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* Creates, reserves and maps the file, and writes the header. The caller holds the mutex. The magic
 * is written last: a reader never sees an incomplete header. */
static bool open_file(void) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  if (mkdir(state.folder, 0777) != 0 && errno != EEXIST) return give_up(state.folder);
  const int fd = create(host);
  if (fd < 0) return give_up(state.path);
  state.most = (uint32_t)((state.limit - kHeaderBytes) / kChunkBytes);
  const uint32_t first = state.most < kChunksReserved ? state.most : kChunksReserved;
  struct stat made;
  if (!reserve_bytes(fd, bytes_of(first)) || fstat(fd, &made) != 0) {
    errno = ENOSPC;
    give_up(state.path);
    unlink(state.path);
    close(fd);
    return false;
  }
  state.device = made.st_dev;
  state.inode = made.st_ino;
  state.reserved = first;
  state.mapped = (size_t)bytes_of(state.most);
  void* base = mmap(NULL, state.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    give_up(state.path);
    unlink(state.path);
    close(fd);
    return false;
  }
  close(fd);
  struct header* header = base;
  header->version = kVersion;
  header->header_bytes = kHeaderBytes;
  header->chunk_bytes = kChunkBytes;
  header->kind = state.kind;
  header->pid = getpid();
  header->rank = state.who.rank;
  header->world = state.who.world;
  memcpy(header->role, state.who.role, sizeof header->role);
  memcpy(header->host, host, sizeof header->host);
  header->opened_realtime = clock_ns(CLOCK_REALTIME);
  header->opened_monotonic = clock_ns(CLOCK_MONOTONIC);
  atomic_thread_fence(memory_order_release);
  memcpy(header->magic, "weftlog", 8);
  atomic_store(&state.header, header);
  return true;
}

/* Reserves the next chunks. The caller holds the mutex. */
static bool reserve_more(void) {
  uint32_t wanted = state.reserved + kChunksReserved;
  if (wanted > state.most) wanted = state.most;
  if (wanted == state.reserved) {
    stop(kLimit);
    return false;
  }
  const int fd = reopen();
  const bool done = fd >= 0 && reserve_bytes(fd, bytes_of(wanted));
  if (fd >= 0) close(fd);
  if (!done) {
    stop(kNoSpace);
    return false;
  }
  state.reserved = wanted;
  return true;
}

/* -- chunks --------------------------------------------------------------------------------- */

static uint32_t put_varint(uint8_t* at, uint64_t value) {
  uint32_t size = 0;
  while (value >= 0x80) {
    at[size++] = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  at[size++] = (uint8_t)value;
  return size;
}

/* Appends a record to the chunk of this thread, which must have room for the record. `used` is
 * stored last (with release order), so that a reader sees the record only when it is complete. */
static void put_record(enum weft_record_type type, int64_t now, const uint8_t* fields,
                       uint32_t size) {
  uint8_t head[11];
  head[0] = (uint8_t)type;
  const uint32_t head_size = 1 + put_varint(head + 1, weft_zigzag(now - mine.last));
  uint32_t used = atomic_load_explicit(&mine.chunk->used, memory_order_relaxed);
  uint8_t* at = (uint8_t*)(mine.chunk + 1) + used;
  const uint32_t length_size = put_varint(at, head_size + size);
  memcpy(at + length_size, head, head_size);
  memcpy(at + length_size + head_size, fields, size);
  used += length_size + head_size + size;
  mine.last = now;
  atomic_store_explicit(&mine.chunk->used, used, memory_order_release);
}

/* Whether the thread has a chunk of this process with room for `size` bytes of fields. Length, type
 * and time take at most 13 bytes. */
static bool has_room(uint32_t size) {
  return mine.chunk != NULL && mine.generation == state.generation &&
         atomic_load_explicit(&mine.chunk->used, memory_order_relaxed) + 13 + size <= kRoom;
}

/* Gives this thread a chunk with room for `size` bytes of fields: a free chunk if it has room, else
 * a new chunk. Then writes the id of the thread as the first record of this thread in the chunk. */
static bool take_chunk(int64_t now, uint32_t size) {
  enum { kThreadRecord = 32 };
  bool taken = false;
  pthread_mutex_lock(&state.mutex);
  const bool open = atomic_load(&state.header) != NULL;
  if (!state.failed && (open || open_file())) {
    uint8_t* base = (uint8_t*)atomic_load(&state.header);
    mine.chunk = NULL;
    mine.generation = state.generation;
    if (state.free_count > 0) {
      const struct leftover left = state.free[--state.free_count];
      mine.chunk = (struct chunk*)(base + bytes_of(left.number));
      mine.number = left.number;
      mine.last = left.last;
    }
    taken = has_room(size + kThreadRecord);
    if (!taken && (state.chunks < state.reserved || reserve_more())) {
      mine.number = state.chunks++;
      mine.chunk = (struct chunk*)(base + bytes_of(mine.number));
      mine.chunk->base = mine.last = now;
      atomic_store_explicit(&mine.chunk->magic, kChunkMagic, memory_order_release);
      atomic_store(&atomic_load(&state.header)->chunks, state.chunks);
      taken = true;
    }
  }
  pthread_mutex_unlock(&state.mutex);
  if (!taken) {
    mine.chunk = NULL;
    return false;
  }
  /* Any value except NULL makes end_thread() run when this thread ends. */
  pthread_setspecific(state.thread_end, &state);
  uint8_t thread[10];
  put_record(WEFT_RECORD_THREAD, now, thread, put_varint(thread, (uint64_t)syscall(SYS_gettid)));
  return true;
}

/* Runs when a thread ends: frees its chunk for other threads. */
static void end_thread(void* ignored) {
  (void)ignored;
  pthread_mutex_lock(&state.mutex);
  if (mine.chunk != NULL && mine.generation == state.generation && state.free_count < kFreeKept) {
    state.free[state.free_count++] = (struct leftover){mine.number, mine.last};
  }
  mine.chunk = NULL;
  pthread_mutex_unlock(&state.mutex);
}

void weft_log_append(enum weft_record_type type, int64_t now, const struct weft_fields* fields) {
  const int error = errno;
  if (!mine.busy && !fields->overflow) {
    mine.busy = true;
    const bool room = has_room(fields->size) || take_chunk(now, fields->size);
    if (room) put_record(type, now, fields->bytes, fields->size);
    mine.busy = false;
    if (room) {
      errno = error;
      return;
    }
  }
  struct header* header = atomic_load(&state.header);
  if (header != NULL) atomic_fetch_add(&header->lost, 1);
  errno = error;
}

/* -- the life of the process ---------------------------------------------------------------- */

static void before_fork(void) { pthread_mutex_lock(&state.mutex); }
static void after_fork_parent(void) { pthread_mutex_unlock(&state.mutex); }

/* Runs in a forked child. The child shares the pages of the parent's file, but must not write to
 * this file. It creates its own file with its first record. The mutex is initialised again, because
 * before_fork() has locked it. */
static void after_fork_child(void) {
  struct header* header = atomic_load(&state.header);
  if (header != NULL) munmap(header, state.mapped);
  atomic_store(&state.header, NULL);
  state.failed = false;
  state.chunks = state.reserved = state.free_count = 0;
  ++state.generation;
  mine.chunk = NULL;
  pthread_mutex_init(&state.mutex, NULL);
  if (weft_log_after_fork != NULL) weft_log_after_fork();
}

void weft_log_setup(enum weft_log_kind kind) {
  state.kind = kind;
  state.who = weft_identify();
  state.limit = kDefaultLimit;
  const char* folder = getenv("WEFT_RECORD");
  const char* limit = getenv("WEFT_RECORD_LIMIT");
  const char* wait = getenv("WEFT_RECORD_WAIT");
  if (folder == NULL || *folder == '\0' || strlen(folder) >= sizeof state.folder) return;
  strcpy(state.folder, folder);
  if (limit != NULL && atoll(limit) > 0) state.limit = atoll(limit);
  const int64_t least = bytes_of(1);
  const int64_t most = (int64_t)1 << 36;
  state.limit = state.limit < least ? least : state.limit > most ? most : state.limit;
  if (pthread_key_create(&state.thread_end, end_thread) != 0) return;
  if (pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0) return;
  state.configured = true;
  atomic_store(&weft_log_open_window, wait == NULL || strcmp(wait, "1") != 0);
}

bool weft_log_configured(void) { return state.configured; }

void weft_log_set_rank(int32_t rank, int32_t world) {
  if (state.who.rank >= 0) return;
  state.who.rank = rank;
  state.who.world = world;
}

void weft_log_record(bool on) {
  if (!state.configured || atomic_exchange(&weft_log_open_window, on) == on) return;
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, on ? 1 : 0);
  weft_log_append(WEFT_RECORD_WINDOW, weft_now(), &fields);
}

/* Runs when the process exits. Other threads may still run and write to their chunks, so the file
 * stays mapped. This function only cuts off the unused bytes after the last chunk in use. */
__attribute__((destructor)) static void close_log(void) {
  atomic_store(&weft_log_open_window, false);
  pthread_mutex_lock(&state.mutex);
  struct header* header = atomic_load(&state.header);
  if (header != NULL) {
    header->closed_realtime = clock_ns(CLOCK_REALTIME);
    header->closed_monotonic = clock_ns(CLOCK_MONOTONIC);
    uint32_t recording = kRecording;
    atomic_compare_exchange_strong(&header->state, &recording, kClosed);
    const int fd = reopen();
    /* If this fails, the file only keeps some empty space at its end. */
    if (fd >= 0 && ftruncate(fd, bytes_of(state.chunks)) == 0) state.reserved = state.chunks;
    if (fd >= 0) close(fd);
  }
  state.failed = true;
  pthread_mutex_unlock(&state.mutex);
}
