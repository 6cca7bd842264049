/* SPDX-License-Identifier: Apache-2.0
 * The interface between NCCL and a profiler plug-in, in its versions v3 to v6. This file declares
 * only the data that this plug-in uses. A plug-in exports one table of functions per version. NCCL
 * looks for the table of the newest version that it knows, then for older tables. NCCL 2.26 takes
 * v3, NCCL 2.27 takes v4, NCCL 2.28 takes v5, and NCCL 2.29 and later take v6. */
#ifndef WEFT_PROBES_NCCL_ABI_H
#define WEFT_PROBES_NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Kinds of events. NCCL writes a kind as the mask 1 << kind. */
enum nccl_kind {
  kGroup = 0,
  kColl = 1,
  kP2p = 2,
  kProxyOp = 3,
  kProxyStep = 4,
  kProxyCtrl = 5,
  kKernelCh = 6,
  kNetPlugin = 7,
  kGroupApi = 8,
  kCollApi = 9,
  kP2pApi = 10,
  kKernelLaunch = 11,
  kCeColl = 12,
  kCeSync = 13,
  kCeBatch = 14,
  kKinds = 15,
};

/* The states of events that this plug-in records. Proxy operations have the states 0 to 7 (before
 * NCCL 2.27). Proxy steps have the states 8 to 12, and kPeerWait. Kernel channels have
 * kKernelChStop. */
enum nccl_state {
  kLastProxyOpState = 7,
  kFirstStepState = 8,
  kLastStepState = 12,
  kPeerWait = 20,
  kKernelChStop = 22
};

/* Parts of descriptors that are the same in all versions. */
struct nccl_proxy_op {
  pid_t process;
  uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct nccl_proxy_step {
  int step;
};
struct nccl_kernel_channel_v3 {
  uint8_t channel;
};
struct nccl_kernel_channel {
  uint8_t channel;
  uint64_t gpu_time;
};
struct nccl_net {
  int64_t id;
  void* data;
};

struct nccl_coll_v3 {
  const char* communicator_name;
  uint64_t communicator;
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct nccl_p2p_v3 {
  const char* communicator_name;
  uint64_t communicator;
  const char* function;
  void* buffer;
  const char* type;
  size_t count;
  int peer;
};

/* The descriptors of v4. Later versions append a member for the group, which is not used here. */
struct nccl_coll {
  uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  size_t count;
  int root;
  const char* type;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
struct nccl_p2p {
  const char* function;
  void* buffer;
  const char* type;
  size_t count;
  int peer;
  uint8_t channels;
};

struct nccl_event_v3 {
  uint8_t kind; /* a mask with one bit */
  void* parent;
  int rank;
  union {
    struct nccl_coll_v3 coll;
    struct nccl_p2p_v3 p2p;
    struct nccl_proxy_op proxy_op;
    struct nccl_proxy_step proxy_step;
    struct nccl_kernel_channel_v3 kernel_channel;
    struct nccl_net net;
  };
};

struct nccl_event_v4 {
  uint8_t kind;
  void* parent;
  int rank;
  union {
    struct nccl_coll coll;
    struct nccl_p2p p2p;
    struct nccl_proxy_op proxy_op;
    struct nccl_proxy_step proxy_step;
    struct nccl_kernel_channel kernel_channel;
    struct nccl_net net;
  };
};

/* v5 and v6 use this layout. v6 adds collectives that copy engines execute. The descriptor of such
 * a collective begins like the descriptor of any other collective. */
struct nccl_event_v5 {
  uint64_t kind;
  void* parent;
  int rank;
  union {
    struct {
      bool captured;
      int depth;
    } group_api;
    struct {
      const char* function;
      size_t count;
      const char* type;
      int root;
      void* stream;
      bool captured;
    } coll_api;
    struct {
      const char* function;
      size_t count;
      const char* type;
      void* stream;
      bool captured;
    } p2p_api;
    struct {
      void* stream;
    } launch;
    struct nccl_coll coll;
    struct nccl_p2p p2p;
    struct nccl_proxy_op proxy_op;
    struct nccl_proxy_step proxy_step;
    struct nccl_kernel_channel kernel_channel;
    struct nccl_net net;
  };
};

/* The argument of a state change is a number of bytes or a time of the GPU. The bytes are those
 * that a step moves; in v3 they are those that an operation has moved so far. */
union nccl_state_argument {
  size_t bytes;
  uint64_t gpu_time;
};

typedef void (*nccl_logger)(int level, unsigned long flags, const char* file, int line,
                            const char* format, ...);

struct nccl_profiler_v3 {
  const char* name;
  int (*init)(void** context, int* mask);
  int (*start)(void* context, void** handle, struct nccl_event_v3* event);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, union nccl_state_argument* argument);
  int (*finalize)(void* context);
};
struct nccl_profiler_v4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* communicator_name, uint64_t communicator,
              int nodes, int ranks, int rank, nccl_logger log);
  int (*start)(void* context, void** handle, struct nccl_event_v4* event);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, union nccl_state_argument* argument);
  int (*finalize)(void* context);
};
struct nccl_profiler_v5 {
  const char* name;
  int (*init)(void** context, uint64_t communicator, int* mask, const char* communicator_name,
              int nodes, int ranks, int rank, nccl_logger log);
  int (*start)(void* context, void** handle, struct nccl_event_v5* event);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, union nccl_state_argument* argument);
  int (*finalize)(void* context);
};

#endif
