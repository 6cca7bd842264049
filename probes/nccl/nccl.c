/* SPDX-License-Identifier: Apache-2.0
 * libnccl-profiler-weft.so, for NCCL_PROFILER_PLUGIN. It records the events that NCCL reports. It
 * keeps no data about events: every call that NCCL makes becomes one record, and the reader of the
 * log connects the records of an event. The handle of an event is only a number. So nothing is
 * allocated per event. And a handle stays valid after the event has stopped, which matters because
 * NCCL may still name the event as the parent of another event. */
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
/* The addresses of NCCL's activation masks. NCCL reports an event only if the bit of its kind is
 * set in the mask. Each copy of NCCL in the process has one mask. The addresses are kept, so that
 * recording can be switched on and off later. */
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

/* The kinds that WEFT_NCCL_EVENTS lists. By default, kernel channels are not recorded: to report
 * kernel channels, NCCL runs its proxy thread for every collective, which makes small collectives
 * slower. */
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

/* Sets a mask of NCCL. The store is atomic, because NCCL's threads read the mask meanwhile. */
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

/* NCCL calls this for every new communicator. Always returns 0 (success). If memory runs out, the
 * context is NULL, and the events of the communicator are not recorded. */
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

/* Frees nothing, because NCCL's proxy thread may still report events of the communicator. */
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

/* The kind of an event, which NCCL writes as a mask with one bit; -1 if no bit is set. */
static int kind_of(uint64_t mask) { return mask == 0 ? -1 : __builtin_ctzll(mask); }

/* An event, in a form that is the same for all versions of the interface. The pointers point into
 * NCCL's descriptor. Read only the members that belong to the kind of the event. */
struct event {
  uint64_t mask; /* 1 << kind */
  const void* parent;
  const struct nccl_coll* coll; /* set also for collectives by copy engines */
  const struct nccl_p2p* p2p;
  const struct nccl_proxy_op* proxy_op;
  const struct nccl_proxy_step* proxy_step;
  const struct nccl_kernel_channel* kernel_channel;
  /* The arguments of an API call. Launches have a stream too. */
  const char *function, *type;
  size_t count;
  const void* stream;
};

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

static void put_p2p(struct weft_fields* fields, const struct nccl_p2p* p2p) {
  weft_put_text(fields, p2p->function);
  weft_put_text(fields, p2p->type);
  weft_put(fields, p2p->count);
  weft_put_signed(fields, p2p->peer);
  weft_put(fields, p2p->channels);
}

static void put_proxy_op(struct weft_fields* fields, const struct nccl_proxy_op* op) {
  weft_put_signed(fields, op->process);
  weft_put(fields, op->channel);
  weft_put_signed(fields, op->peer);
  weft_put_signed(fields, op->steps);
  weft_put_signed(fields, op->chunk_bytes);
  weft_put(fields, op->is_send ? 1 : 0);
}

/* Appends the fields that depend on the kind. The order is that of docs/formats/log.md. Kinds that
 * are not listed, such as groups, have no fields of their own. */
static void put_details(struct weft_fields* fields, const struct event* e) {
  const int kind = kind_of(e->mask);
  switch (kind) {
    case kColl:
    case kCeColl:
      put_coll(fields, e->coll, kind == kCeColl);
      break;
    case kP2p:
      put_p2p(fields, e->p2p);
      break;
    case kProxyOp:
      put_proxy_op(fields, e->proxy_op);
      break;
    case kProxyStep:
      weft_put_signed(fields, e->proxy_step->step);
      break;
    case kKernelCh:
      weft_put(fields, e->kernel_channel->channel);
      weft_put(fields, e->kernel_channel->gpu_time);
      break;
    case kCollApi:
    case kP2pApi:
      weft_put_text(fields, e->function);
      weft_put_text(fields, e->type);
      weft_put(fields, e->count);
      weft_put(fields, number_of(e->stream));
      break;
    case kKernelLaunch:
      weft_put(fields, number_of(e->stream));
      break;
  }
}

/* The parent of an event, or NULL if the parent is not in this log. NCCL's proxy thread may work
 * for another process of the node. Then the parent is an event in the log of that process. */
static const void* parent_in_this_process(const struct event* e) {
  const bool foreign = kind_of(e->mask) == kProxyOp && e->proxy_op->process != getpid();
  return foreign ? NULL : e->parent;
}

/* Whether events of the communicator with this mask are recorded now. */
static bool recorded_now(const struct communicator* c, uint64_t mask) {
  return weft_log_recording() && c != NULL && mask != 0 && mask < 1u << kKinds;
}

/* Records the start of an event and sets its handle. The handle is NULL if the event is not
 * recorded, so that stop() and state() ignore it too. Always returns 0 (success). */
static int start(struct communicator* c, void** handle, const struct event* e) {
  *handle = NULL;
  if (!recorded_now(c, e->mask)) return 0;
  const uint64_t number = atomic_fetch_add_explicit(&events, 1, memory_order_relaxed) + 1;
  *handle = (void*)(uintptr_t)number;
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, number);
  weft_put(&fields, (uint64_t)kind_of(e->mask));
  weft_put(&fields, number_of(parent_in_this_process(e)));
  weft_put(&fields, c->number);
  put_details(&fields, e);
  const int64_t now = weft_now();
  record_communicator(c, now);
  weft_log_append(WEFT_RECORD_NCCL_START, now, &fields);
  return 0;
}

/* In v3, NCCL passes no data about the communicator to init(). But each event of a collective or
 * message contains the id of the communicator and the rank of this process in it. The size of the
 * communicator stays unknown. */
static void learn_communicator(struct communicator* c, const struct nccl_event_v3* e) {
  const bool coll = kind_of(e->kind) == kColl;
  if (!coll && kind_of(e->kind) != kP2p) return;
  if (!recorded_now(c, e->kind) || atomic_load(&c->recorded)) return;
  c->id = coll ? e->coll.communicator : e->p2p.communicator;
  c->rank = e->rank;
}

/* The descriptors of v3 and of later versions have different layouts, so this function copies the
 * members. */
static int start_v3(void* context, void** handle, struct nccl_event_v3* e) {
  struct nccl_coll coll;
  struct nccl_p2p p2p;
  struct nccl_kernel_channel channel;
  struct event event = {.mask = e->kind, .parent = e->parent};
  learn_communicator(context, e);
  switch (kind_of(e->kind)) {
    case kColl:
      coll = (struct nccl_coll){.sequence = e->coll.sequence,
                                .function = e->coll.function,
                                .count = e->coll.count,
                                .root = e->coll.root,
                                .type = e->coll.type,
                                .channels = e->coll.channels,
                                .algorithm = e->coll.algorithm,
                                .protocol = e->coll.protocol};
      event.coll = &coll;
      break;
    case kP2p:
      p2p = (struct nccl_p2p){.function = e->p2p.function,
                              .type = e->p2p.type,
                              .count = e->p2p.count,
                              .peer = e->p2p.peer};
      event.p2p = &p2p;
      break;
    case kKernelCh:
      channel = (struct nccl_kernel_channel){.channel = e->kernel_channel.channel};
      event.kernel_channel = &channel;
      break;
    default:
      event.proxy_op = &e->proxy_op;
      event.proxy_step = &e->proxy_step;
  }
  return start(context, handle, &event);
}

static int start_v4(void* context, void** handle, struct nccl_event_v4* e) {
  const struct event event = {.mask = e->kind,
                              .parent = e->parent,
                              .coll = &e->coll,
                              .p2p = &e->p2p,
                              .proxy_op = &e->proxy_op,
                              .proxy_step = &e->proxy_step,
                              .kernel_channel = &e->kernel_channel};
  return start(context, handle, &event);
}

/* The table of v6 uses this function too, because the descriptors of v6 have the same layout. */
static int start_v5(void* context, void** handle, struct nccl_event_v5* e) {
  struct event event = {.mask = e->kind,
                        .parent = e->parent,
                        .coll = &e->coll,
                        .p2p = &e->p2p,
                        .proxy_op = &e->proxy_op,
                        .proxy_step = &e->proxy_step,
                        .kernel_channel = &e->kernel_channel};
  switch (kind_of(e->kind)) {
    case kCollApi:
      event.function = e->coll_api.function;
      event.type = e->coll_api.type;
      event.count = e->coll_api.count;
      event.stream = e->coll_api.stream;
      break;
    case kP2pApi:
      event.function = e->p2p_api.function;
      event.type = e->p2p_api.type;
      event.count = e->p2p_api.count;
      event.stream = e->p2p_api.stream;
      break;
    case kKernelLaunch:
      event.stream = e->launch.stream;
      break;
  }
  return start(context, handle, &event);
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
