/* SPDX-License-Identifier: Apache-2.0
 * libnccl-profiler-weft.so, for NCCL_PROFILER_PLUGIN. It keeps no data about events: the handle
 * that NCCL gets for an event is a number, every call of NCCL becomes one record, and the reader
 * connects the records. So nothing is allocated per event, and a handle stays valid even if NCCL
 * names it as the parent of another event long after the event has stopped. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/log/log.h"
#include "probes/nccl/abi.h"

#define EXPORT __attribute__((visibility("default")))

struct communicator {
  uint32_t number;
  uint64_t id;
  int nodes, ranks, rank; /* -1 if unknown */
  char name[64];
  _Atomic bool recorded; /* the record of the communicator was written */
};

enum { kMasks = 8 };
static int wanted; /* mask of the kinds of events to record */
static _Atomic uint32_t communicators;
static _Atomic uint64_t events;
/* NCCL's activation masks: NCCL reports only events whose bit is set. Each copy of NCCL in the
 * process has one mask; its address is kept, so that recording can be switched on and off later. */
static int* _Atomic masks[kMasks];

/* -- what to record ------------------------------------------------------------------------- */

static const struct {
  const char* name;
  int kinds;
} kSets[] = {
    {"coll", 1 << kColl | 1 << kCeColl},
    {"p2p", 1 << kP2p},
    {"launch", 1 << kKernelLaunch},
    {"proxy", 1 << kProxyOp | 1 << kProxyStep},
    {"kernel", 1 << kKernelCh},
    {"api", 1 << kGroupApi | 1 << kCollApi | 1 << kP2pApi},
    {"group", 1 << kGroup},
};

/* The kinds that WEFT_NCCL_EVENTS lists. Kernel channels are not in the default: to report them,
 * NCCL runs its proxy thread for every collective, which makes small collectives slower. */
static int read_wanted(void) {
  const char* list = getenv("WEFT_NCCL_EVENTS");
  if (list == NULL || *list == '\0') list = "coll,p2p,launch,proxy";
  int kinds = 0;
  const size_t sets = sizeof kSets / sizeof *kSets;
  while (*list != '\0') {
    const size_t length = strcspn(list, ",");
    size_t i = 0;
    while (i < sets &&
           (strlen(kSets[i].name) != length || strncmp(kSets[i].name, list, length) != 0))
      ++i;
    if (i < sets) {
      kinds |= kSets[i].kinds;
    } else if (length == 3 && strncmp(list, "all", 3) == 0) {
      for (size_t k = 0; k < sets; ++k) kinds |= kSets[k].kinds;
    } else {
      dprintf(
          STDERR_FILENO,
          "weft: WEFT_NCCL_EVENTS: unknown value \"%.*s\" was ignored; known are all, coll, p2p, "
          "launch, proxy, kernel, api, group\n",
          (int)length, list);
    }
    list += length + (list[length] == ',' ? 1 : 0);
  }
  return kinds;
}

/* An atomic store, because NCCL's threads read the mask at the same time. */
static void switch_on(int* mask, bool on) {
  __atomic_store_n(mask, on ? wanted : 0, __ATOMIC_RELAXED);
}

EXPORT void weft_nccl_record(int on) {
  weft_log_record(on != 0);
  for (int i = 0; i < kMasks; ++i) {
    int* mask = atomic_load(&masks[i]);
    if (mask != NULL) switch_on(mask, weft_log_recording());
  }
}

__attribute__((constructor)) static void set_up(void) {
  weft_log_setup(WEFT_LOG_NCCL);
  wanted = weft_log_configured() ? read_wanted() : 0;
}

/* -- communicators -------------------------------------------------------------------------- */

/* NCCL calls this for every new communicator. Always returns 0 (success), also if memory runs out:
 * then the context is NULL and the events of the communicator are not recorded. */
static int begin(void** context, int* mask, uint64_t id, const char* name, int nodes, int ranks,
                 int rank) {
  struct communicator* c = calloc(1, sizeof *c);
  *context = c;
  *mask = 0;
  if (c == NULL) return 0;
  c->number = atomic_fetch_add(&communicators, 1);
  c->id = id;
  c->nodes = nodes;
  c->ranks = ranks;
  c->rank = rank;
  if (name != NULL) snprintf(c->name, sizeof c->name, "%s", name);
  if (rank >= 0) weft_log_set_rank(rank, ranks);
  for (int i = 0; i < kMasks; ++i) {
    int* none = NULL;
    if (atomic_compare_exchange_strong(&masks[i], &none, mask) || none == mask) break;
  }
  switch_on(mask, weft_log_recording());
  return 0;
}

/* Frees nothing: NCCL's proxy thread may still report events of the communicator. */
static int finalize(void* context) {
  (void)context;
  return 0;
}

/* Writes the record of a communicator, once. */
static void record_communicator(struct communicator* c, int64_t now) {
  if (atomic_load_explicit(&c->recorded, memory_order_relaxed) ||
      atomic_exchange(&c->recorded, true))
    return;
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, c->number);
  weft_put(&fields, c->id);
  weft_put_signed(&fields, c->ranks);
  weft_put_signed(&fields, c->rank);
  weft_put_signed(&fields, c->nodes);
  weft_put_text(&fields, c->name);
  weft_log_append(WEFT_RECORD_NCCL_COMMUNICATOR, now, &fields);
}

/* -- events --------------------------------------------------------------------------------- */

static uint64_t number_of(const void* handle) { return (uint64_t)(uintptr_t)handle; }

/* Begins the record of an event and sets its handle. Returns false, and sets the handle to NULL, if
 * the event is not recorded. */
static bool open_event(struct weft_fields* fields, struct communicator* c, void** handle,
                       uint64_t mask, const void* parent) {
  *handle = NULL;
  if (!weft_log_recording() || c == NULL || mask == 0 || mask >= 1u << kKinds) return false;
  const uint64_t number = atomic_fetch_add_explicit(&events, 1, memory_order_relaxed) + 1;
  *handle = (void*)(uintptr_t)number;
  weft_fields_init(fields);
  weft_put(fields, number);
  weft_put(fields, (uint64_t)__builtin_ctzll(mask));
  weft_put(fields, number_of(parent));
  weft_put(fields, c->number);
  return true;
}

/* Writes the record that open_event() began. */
static int close_event(struct weft_fields* fields, struct communicator* c) {
  const int64_t now = weft_now();
  record_communicator(c, now);
  weft_log_append(WEFT_RECORD_NCCL_START, now, fields);
  return 0;
}

/* `by_copies` means that copy engines execute the collective. Its descriptor lacks channels,
 * algorithm and protocol, so these members must not be read. */
static void put_coll(struct weft_fields* fields, const struct nccl_coll* coll, bool by_copies) {
  weft_put_text(fields, coll->function);
  weft_put_text(fields, coll->type);
  weft_put(fields, coll->count);
  weft_put(fields, coll->sequence);
  weft_put_signed(fields, coll->root);
  weft_put(fields, by_copies ? 0 : coll->channels);
  weft_put_text(fields, by_copies ? "" : coll->algorithm);
  weft_put_text(fields, by_copies ? "" : coll->protocol);
}

static void put_p2p(struct weft_fields* fields, const char* function, const char* type,
                    size_t count, int peer, int channels) {
  weft_put_text(fields, function);
  weft_put_text(fields, type);
  weft_put(fields, count);
  weft_put_signed(fields, peer);
  weft_put(fields, (uint64_t)channels);
}

static void put_proxy_op(struct weft_fields* fields, const struct nccl_proxy_op* op) {
  weft_put_signed(fields, op->process);
  weft_put(fields, op->channel);
  weft_put_signed(fields, op->peer);
  weft_put_signed(fields, op->steps);
  weft_put_signed(fields, op->chunk_bytes);
  weft_put(fields, op->is_send ? 1 : 0);
}

/* NCCL's proxy thread may work for another process of the node. Then the parent handle is a number
 * of that process, which means nothing in this log. */
static const void* parent_of_op(const void* parent, const struct nccl_proxy_op* op) {
  return op->process == getpid() ? parent : NULL;
}

static void put_kernel_channel(struct weft_fields* fields, uint8_t channel, uint64_t gpu_time) {
  weft_put(fields, channel);
  weft_put(fields, gpu_time);
}

static void put_api(struct weft_fields* fields, const char* function, const char* type,
                    size_t count, const void* stream) {
  weft_put_text(fields, function);
  weft_put_text(fields, type);
  weft_put(fields, count);
  weft_put(fields, number_of(stream));
}

static int start_v3(void* context, void** handle, struct nccl_event_v3* e) {
  struct communicator* c = context;
  struct weft_fields fields;
  const bool is_op = e->kind == 1 << kProxyOp;
  const void* parent = is_op ? parent_of_op(e->parent, &e->proxy_op) : e->parent;
  if (!open_event(&fields, c, handle, e->kind, parent)) return 0;
  /* In v3, init() gets no data about the communicator. Its id and our rank in it come with the
   * events of collectives and messages; its size stays unknown. */
  const bool coll = e->kind == 1 << kColl;
  if (coll || e->kind == 1 << kP2p) {
    if (!atomic_load(&c->recorded)) {
      c->id = coll ? e->coll.communicator : e->p2p.communicator;
      c->rank = e->rank;
    }
  }
  switch (__builtin_ctz(e->kind)) {
    case kColl: {
      const struct nccl_coll_v3* o = &e->coll;
      const struct nccl_coll same = {o->sequence, o->function,  NULL,       NULL,
                                     o->count,    o->root,      o->type,    o->channels,
                                     o->warps,    o->algorithm, o->protocol};
      put_coll(&fields, &same, false);
      break;
    }
    case kP2p:
      put_p2p(&fields, e->p2p.function, e->p2p.type, e->p2p.count, e->p2p.peer, 0);
      break;
    case kProxyOp:
      put_proxy_op(&fields, &e->proxy_op);
      break;
    case kProxyStep:
      weft_put_signed(&fields, e->proxy_step.step);
      break;
    case kKernelCh:
      put_kernel_channel(&fields, e->kernel_channel.channel, 0);
      break;
  }
  return close_event(&fields, c);
}

static int start_v4(void* context, void** handle, struct nccl_event_v4* e) {
  struct communicator* c = context;
  struct weft_fields fields;
  const bool is_op = e->kind == 1 << kProxyOp;
  const void* parent = is_op ? parent_of_op(e->parent, &e->proxy_op) : e->parent;
  if (!open_event(&fields, c, handle, e->kind, parent)) return 0;
  switch (__builtin_ctz(e->kind)) {
    case kColl:
      put_coll(&fields, &e->coll, false);
      break;
    case kP2p:
      put_p2p(&fields, e->p2p.function, e->p2p.type, e->p2p.count, e->p2p.peer, e->p2p.channels);
      break;
    case kProxyOp:
      put_proxy_op(&fields, &e->proxy_op);
      break;
    case kProxyStep:
      weft_put_signed(&fields, e->proxy_step.step);
      break;
    case kKernelCh:
      put_kernel_channel(&fields, e->kernel_channel.channel, e->kernel_channel.gpu_time);
      break;
  }
  return close_event(&fields, c);
}

static int start_v5(void* context, void** handle, struct nccl_event_v5* e) {
  struct communicator* c = context;
  struct weft_fields fields;
  const bool is_op = e->kind == 1 << kProxyOp;
  const void* parent = is_op ? parent_of_op(e->parent, &e->proxy_op) : e->parent;
  if (!open_event(&fields, c, handle, e->kind, parent)) return 0;
  switch (__builtin_ctzll(e->kind)) {
    case kColl:
    case kCeColl:
      put_coll(&fields, &e->coll, e->kind == 1 << kCeColl);
      break;
    case kP2p:
      put_p2p(&fields, e->p2p.function, e->p2p.type, e->p2p.count, e->p2p.peer, e->p2p.channels);
      break;
    case kProxyOp:
      put_proxy_op(&fields, &e->proxy_op);
      break;
    case kProxyStep:
      weft_put_signed(&fields, e->proxy_step.step);
      break;
    case kKernelCh:
      put_kernel_channel(&fields, e->kernel_channel.channel, e->kernel_channel.gpu_time);
      break;
    case kCollApi:
      put_api(&fields, e->coll_api.function, e->coll_api.type, e->coll_api.count,
              e->coll_api.stream);
      break;
    case kP2pApi:
      put_api(&fields, e->p2p_api.function, e->p2p_api.type, e->p2p_api.count, e->p2p_api.stream);
      break;
    case kKernelLaunch:
      weft_put(&fields, number_of(e->launch.stream));
      break;
  }
  return close_event(&fields, c);
}

static int stop(void* handle) {
  if (handle == NULL) return 0;
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, number_of(handle));
  weft_log_append(WEFT_RECORD_NCCL_STOP, weft_now(), &fields);
  return 0;
}

/* NCCL reports a change of an event's state. Only states that the reader uses are recorded. */
static int state(void* handle, int what, union nccl_state_argument* argument) {
  const bool of_step = (what >= kFirstStepState && what <= kLastStepState) || what == kPeerWait;
  const bool of_operation = what >= 0 && what <= kLastProxyOpState;
  if (handle == NULL || !(of_step || of_operation || what == kKernelChStop)) return 0;
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, number_of(handle));
  weft_put(&fields, (uint64_t)what);
  weft_put(&fields, argument == NULL ? 0 : argument->gpu_time);
  weft_log_append(WEFT_RECORD_NCCL_STATE, weft_now(), &fields);
  return 0;
}

static int init_v3(void** context, int* mask) { return begin(context, mask, 0, NULL, -1, -1, -1); }

static int init_v4(void** context, int* mask, const char* name, uint64_t id, int nodes, int ranks,
                   int rank, nccl_logger log) {
  (void)log;
  return begin(context, mask, id, name, nodes, ranks, rank);
}

static int init_v5(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks,
                   int rank, nccl_logger log) {
  (void)log;
  return begin(context, mask, id, name, nodes, ranks, rank);
}

EXPORT struct nccl_profiler_v3 ncclProfiler_v3 = {"Weft", init_v3, start_v3, stop, state, finalize};
EXPORT struct nccl_profiler_v4 ncclProfiler_v4 = {"Weft", init_v4, start_v4, stop, state, finalize};
EXPORT struct nccl_profiler_v5 ncclProfiler_v5 = {"Weft", init_v5, start_v5, stop, state, finalize};
EXPORT struct nccl_profiler_v5 ncclProfiler_v6 = {"Weft", init_v5, start_v5, stop, state, finalize};
