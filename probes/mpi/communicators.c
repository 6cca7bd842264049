/* SPDX-License-Identifier: Apache-2.0
 * Handles communicators and writes the records of calls. Each communicator gets an id that all of
 * its members compute without communicating. The id is a hash of two things: the members' ranks in
 * the job, and how many communicators with the same members were created before. The data of a
 * communicator is attached to it as an MPI attribute. Its record is written before the record of
 * its first call. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "probes/log/log.h"
#include "probes/mpi/calls.h"

enum { kMembersWritten = 1500, kSetsKept = 4096 };

/* Attached to the communicator as an attribute. Never freed, because non-blocking calls may still
 * use it when the program frees the communicator. */
struct communicator {
  uint32_t number;
  uint64_t id;
  int size, rank;
  int* members;              /* ranks in the job; NULL if memory ran out */
  _Atomic uint64_t sequence; /* collectives so far */
  _Atomic bool recorded;     /* the record of the communicator was written */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t count;
static int keyval = MPI_KEYVAL_INVALID;
/* For each set of members (identified by its hash): how many communicators were created. */
static struct {
  uint64_t members;
  uint64_t made;
} sets[kSetsKept];
static uint32_t set_count;

void weft_mpi_start(void) {
  int rank = -1, size = -1;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  weft_log_set_rank(rank, size);
  weft_mpi_new_communicator(MPI_COMM_WORLD);
}

/* Adds the bytes of `value` to an FNV-1a hash, one step per byte. */
static uint64_t mix(uint64_t hash, uint64_t value) {
  for (int i = 0; i < 8; ++i) hash = (hash ^ ((value >> (8 * i)) & 0xff)) * 0x100000001b3u;
  return hash;
}

/* The members of a communicator, as ranks of MPI_COMM_WORLD. A member that is not part of
 * MPI_COMM_WORLD is MPI_UNDEFINED, for example a process that the job spawned later. */
static int* members_of(MPI_Comm comm, int size) {
  MPI_Group ours, all;
  int* places = malloc(2 * (size_t)size * sizeof(int));
  if (places == NULL) return NULL;
  for (int i = 0; i < size; ++i) places[size + i] = i;
  PMPI_Comm_group(comm, &ours);
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Group_translate_ranks(ours, size, places + size, all, places);
  PMPI_Group_free(&ours);
  PMPI_Group_free(&all);
  return places;
}

/* Creates the data of a communicator and attaches it. The caller holds the mutex. */
static struct communicator* make(MPI_Comm comm) {
  struct communicator* c = calloc(1, sizeof *c);
  if (c == NULL) return NULL;
  PMPI_Comm_size(comm, &c->size);
  PMPI_Comm_rank(comm, &c->rank);
  c->members = members_of(comm, c->size);
  uint64_t members = 0xcbf29ce484222325u;
  for (int i = 0; i < c->size && c->members != NULL; ++i) {
    members = mix(members, (uint64_t)c->members[i]);
  }
  uint32_t set = 0;
  while (set < set_count && sets[set].members != members) ++set;
  uint64_t made = 0;
  if (set < kSetsKept) {
    if (set == set_count) {
      sets[set_count].members = members;
      ++set_count;
    }
    made = sets[set].made++;
  }
  c->number = count++;
  c->id = mix(members, made);
  PMPI_Comm_set_attr(comm, keyval, c);
  return c;
}

/* Returns the data of a communicator. A communicator has no data yet if it is new, or if a function
 * that is not wrapped created it; then this function creates the data. It looks up the attribute
 * again under the mutex, because another thread may have created the data meanwhile. */
static struct communicator* find(MPI_Comm comm) {
  struct communicator* c = NULL;
  int there = 0;
  if (keyval == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL) return NULL;
  PMPI_Comm_get_attr(comm, keyval, &c, &there);
  if (there) return c;
  pthread_mutex_lock(&mutex);
  PMPI_Comm_get_attr(comm, keyval, &c, &there);
  if (!there) c = make(comm);
  pthread_mutex_unlock(&mutex);
  return c;
}

void weft_mpi_new_communicator(MPI_Comm comm) { find(comm); }

int weft_mpi_size(MPI_Comm comm) {
  int size = 1;
  PMPI_Comm_size(comm, &size);
  return size;
}

int weft_mpi_rank(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

/* Writes the record of a communicator, once. */
static void record_communicator(struct communicator* c, int64_t now) {
  if (atomic_load(&c->recorded) || atomic_exchange(&c->recorded, true)) return;
  /* The members of larger communicators do not fit into a record. Their calls are matched by id and
   * sequence. */
  const int listed = c->members != NULL && c->size <= kMembersWritten ? c->size : 0;
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, c->number);
  weft_put(&fields, c->id);
  weft_put(&fields, (uint64_t)c->size);
  weft_put(&fields, (uint64_t)c->rank);
  weft_put(&fields, (uint64_t)listed);
  int64_t last = 0;
  for (int i = 0; i < listed; ++i) {
    const int64_t member = c->members[i] == MPI_UNDEFINED ? -1 : c->members[i];
    weft_put_signed(&fields, member - last);
    last = member;
  }
  weft_log_append(WEFT_RECORD_MPI_COMMUNICATOR, now, &fields);
}

/* The code of an element type in the log (docs/formats/log.md). All types without a code of their
 * own get 0: then the log counts bytes instead of elements. */
static uint32_t type_code(MPI_Datatype type) {
  if (type == MPI_FLOAT) return 4;
  if (type == MPI_DOUBLE) return 5;
  if (type == MPI_INT || type == MPI_INT32_T) return 2;
  if (type == MPI_LONG || type == MPI_INT64_T || type == MPI_LONG_LONG) return 3;
  if (type == MPI_CHAR || type == MPI_INT8_T || type == MPI_SIGNED_CHAR) return 1;
  if (type == MPI_SHORT || type == MPI_INT16_T) return 7;
  return 0;
}

/* Begins a call whose whole array has `elements` elements. If the type has code 0, the call counts
 * bytes: the number of elements times the size of the type. */
static struct mpi_call begin(enum mpi_kind kind, struct communicator* c, int64_t elements,
                             MPI_Datatype type, int peer) {
  struct mpi_call call = {.kind = kind, .peer = peer, .element_bytes = 1};
  if (c == NULL || !weft_log_recording()) return call;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &call.element_bytes);
  call.type = type == MPI_DATATYPE_NULL ? 0 : type_code(type);
  call.elements = elements < 0 ? 0 : (uint64_t)elements;
  if (call.type == 0) {
    call.elements *= (uint64_t)call.element_bytes;
    call.element_bytes = 1;
  }
  call.communicator = c->number;
  call.start = weft_now();
  record_communicator(c, call.start);
  return call;
}

struct mpi_call weft_mpi_collective(enum mpi_kind kind, MPI_Comm comm, int64_t elements,
                                    MPI_Datatype type) {
  struct communicator* c = find(comm);
  const uint64_t sequence = c == NULL ? 0 : atomic_fetch_add(&c->sequence, 1) + 1;
  struct mpi_call call = begin(kind, c, elements, type, -1);
  call.sequence = sequence;
  return call;
}

struct mpi_call weft_mpi_message(enum mpi_kind kind, MPI_Comm comm, int count_of, MPI_Datatype type,
                                 int peer) {
  /* MPI_PROC_NULL means that no message is sent. NULL tells begin() not to record the call. */
  return begin(kind, peer == MPI_PROC_NULL ? NULL : find(comm), count_of, type, peer);
}

void weft_mpi_received(struct mpi_call* call, const MPI_Status* status) {
  int bytes = 0;
  if (call->kind != kReceive || status == NULL) return;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  if (bytes != MPI_UNDEFINED && call->element_bytes > 0) {
    call->elements = (uint64_t)bytes / (uint64_t)call->element_bytes;
  }
  if (status->MPI_SOURCE >= 0) call->peer = status->MPI_SOURCE;
}

void weft_mpi_end(const struct mpi_call* call, int64_t end) {
  if (call->start == 0) return;
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, (uint64_t)(end > call->start ? end - call->start : 0));
  weft_put(&fields, call->kind);
  weft_put(&fields, call->communicator);
  weft_put(&fields, call->sequence);
  weft_put(&fields, call->elements);
  weft_put(&fields, call->type);
  weft_put_signed(&fields, call->peer);
  weft_put(&fields, call->in_background ? 1 : 0);
  weft_log_append(WEFT_RECORD_MPI_CALL, call->start, &fields);
}

void weft_mpi_waited(int64_t start, int64_t end, int requests) {
  struct weft_fields fields;
  weft_fields_init(&fields);
  weft_put(&fields, (uint64_t)(end > start ? end - start : 0));
  weft_put(&fields, (uint64_t)requests);
  weft_log_append(WEFT_RECORD_MPI_WAIT, start, &fields);
}
