/* SPDX-License-Identifier: Apache-2.0
 * Calls a profiler plug-in as NCCL does. Usage: nccl_driver PLUGIN VERSION RANK. The job has two
 * ranks. Each does one all-reduce of 1,000,000 floats over two channels, one send and one receive.
 * The plug-in reads the clock when it is called. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/nccl/abi.h"

static int mask;
static void* plugin;

/* An event in the layout of each interface version. */
union event {
  struct nccl_event_v3 v3;
  struct nccl_event_v4 v4;
  struct nccl_event_v5 v5;
};

static int version;
static void* context;
static struct nccl_profiler_v5*
    table; /* stop, state and finalize have the same offsets in all versions */

static void* start(union event* e, enum nccl_kind kind, const void* parent, int rank) {
  void* handle = NULL;
  /* NCCL starts an event only if the plug-in requested its kind. */
  if (!(mask & 1 << kind)) return NULL;
  if (version == 3) {
    e->v3.kind = (uint8_t)(1 << kind), e->v3.parent = (void*)parent, e->v3.rank = rank;
    ((struct nccl_profiler_v3*)table)->start(context, &handle, &e->v3);
  } else if (version == 4) {
    e->v4.kind = (uint8_t)(1 << kind), e->v4.parent = (void*)parent, e->v4.rank = rank;
    ((struct nccl_profiler_v4*)table)->start(context, &handle, &e->v4);
  } else {
    e->v5.kind = (uint64_t)1 << kind, e->v5.parent = (void*)parent, e->v5.rank = rank;
    table->start(context, &handle, &e->v5);
  }
  return handle;
}

static void stop(void* handle) {
  if (handle != NULL) table->stop(handle);
}

static void state(void* handle, int what, uint64_t value) {
  union nccl_state_argument argument = {.gpu_time = value};
  if (handle != NULL) table->state(handle, what, version == 3 && what > 7 ? NULL : &argument);
}

static void* start_coll(int rank) {
  const struct nccl_coll coll = {7, "AllReduce", NULL,   NULL,    1000000, 0, "ncclFloat32",
                                 2, 8,           "RING", "SIMPLE"};
  union event e;
  memset(&e, 0, sizeof e);
  if (version == 3) {
    const struct nccl_coll_v3 old = {
        "world", 0xabcdef, coll.sequence,  coll.function, NULL, NULL, coll.count, 0, coll.type,
        2,       8,        coll.algorithm, coll.protocol};
    e.v3.coll = old;
  } else if (version == 4) {
    e.v4.coll = coll;
  } else {
    e.v5.coll = coll;
  }
  return start(&e, kColl, NULL, rank);
}

static void* start_p2p(const char* function, int rank) {
  union event e;
  memset(&e, 0, sizeof e);
  if (version == 3) {
    const struct nccl_p2p_v3 old = {"world", 0xabcdef, function, NULL, "ncclInt8", 5000, 1 - rank};
    e.v3.p2p = old;
  } else {
    const struct nccl_p2p p2p = {function, NULL, "ncclInt8", 5000, 1 - rank, 1};
    if (version == 4) {
      e.v4.p2p = p2p;
    } else {
      e.v5.p2p = p2p;
    }
  }
  return start(&e, kP2p, NULL, rank);
}

/* One channel of a collective: it sends and receives two steps of `bytes` each. */
static void run_proxy(const void* coll, int rank, uint8_t channel, uint64_t bytes) {
  for (int send = 0; send < 2; ++send) {
    const struct nccl_proxy_op op = {getpid(), channel, 1 - rank, 2, (int)bytes * 2, send};
    union event e;
    memset(&e, 0, sizeof e);
    if (version == 3) e.v3.proxy_op = op;
    if (version == 4) e.v4.proxy_op = op;
    if (version >= 5) e.v5.proxy_op = op;
    void* handle = start(&e, kProxyOp, coll, rank);
    for (int i = 0; i < 2; ++i) {
      memset(&e, 0, sizeof e);
      if (version == 3) e.v3.proxy_step.step = i;
      if (version == 4) e.v4.proxy_step.step = i;
      if (version >= 5) e.v5.proxy_step.step = i;
      void* step = start(&e, kProxyStep, handle, rank);
      state(step, send ? 8 : 10, 0);
      if (send) state(step, 9, bytes);
      if (!send) state(step, 11, bytes);
      if (!send) state(step, 12, bytes);
      if (version == 3) state(handle, send ? 2 : 5, bytes * (uint64_t)(i + 1));
      stop(step);
    }
    stop(handle);
  }
}

static void run_kernel(const void* coll, int rank, uint8_t channel) {
  union event e;
  memset(&e, 0, sizeof e);
  if (version == 3) e.v3.kernel_channel.channel = channel;
  if (version == 4) e.v4.kernel_channel = (struct nccl_kernel_channel){channel, 1000000};
  if (version >= 5) e.v5.kernel_channel = (struct nccl_kernel_channel){channel, 1000000};
  void* handle = start(&e, kKernelCh, coll, rank);
  state(handle, 22, 1000000 + 345678);
  stop(handle);
}

int main(int count, char** words) {
  if (count != 4) return 2;
  version = atoi(words[2]);
  const int rank = atoi(words[3]);
  char name[32];
  snprintf(name, sizeof name, "ncclProfiler_v%d", version);
  plugin = dlopen(words[1], RTLD_NOW);
  table = plugin == NULL ? NULL : dlsym(plugin, name);
  if (table == NULL) return 3;
  if (version == 3) ((struct nccl_profiler_v3*)table)->init(&context, &mask);
  if (version == 4) {
    ((struct nccl_profiler_v4*)table)->init(&context, &mask, "world", 0xabcdef, 2, 2, rank, NULL);
  }
  if (version >= 5) table->init(&context, 0xabcdef, &mask, "world", 2, 2, rank, NULL);
  void (*window)(int) = NULL;
  *(void**)&window = dlsym(plugin, "weft_nccl_record");
  if (getenv("WEFT_RECORD_WAIT") != NULL) {
    if (mask != 0 || window == NULL) return 4;
    stop(start_coll(rank));
    window(1);
    if (mask == 0) return 5;
  }
  union event e;
  memset(&e, 0, sizeof e);
  e.v5.launch.stream = (void*)0x77;
  void* launch = version >= 5 ? start(&e, kKernelLaunch, NULL, rank) : NULL;
  stop(launch);
  void* coll = start_coll(rank);
  stop(coll);
  for (uint8_t channel = 0; channel < 2; ++channel) {
    run_proxy(coll, rank, channel, 1000000);
    run_kernel(coll, rank, channel);
  }
  launch = version >= 5 ? start(&e, kKernelLaunch, NULL, rank) : NULL;
  stop(launch);
  stop(start_p2p("Send", rank));
  stop(start_p2p("Recv", rank));
  if (window != NULL) window(0);
  stop(start_coll(rank));
  table->finalize(context);
  dlclose(plugin);
  return 0;
}
