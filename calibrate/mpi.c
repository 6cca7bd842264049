// SPDX-License-Identifier: Apache-2.0
// The program that every rank runs under `weft calibrate -- mpirun ...`. It measures how long MPI's
// collectives take at each size, in single calls and back to back. README.md explains what is
// measured and lists the lines that rank 0 prints. python/weft/torch/calibrate.py does the same for
// torch.
//
// All ranks go through the same list of tables and sizes in the same order. Before each visit rank
// 0 broadcasts how many calls to make, because only rank 0 knows the earlier results. After the
// visit rank 0 gathers the times of all ranks.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// kMostAlone and kMostQueued: a visit makes at most this many single calls and back-to-back calls.
// kMostPairs: at most this many pairs of ranks are measured. kElement: the bytes of one element.
enum { kMostAlone = 10, kMostQueued = 50, kMostPairs = 28, kElement = 4 };
static const long long kMostBytes = 1LL << 32;  // MPI counts elements in an int
// A visit makes as many calls as fit into these times, within the limits above.
static const double kAloneSeconds = 0.03, kQueuedSeconds = 0.05;
// The first pass, which tries larger and larger sizes, may use this fraction of the whole time.
static const double kGrowth = 0.6;

typedef enum {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kSendRecv,
  kCollectives
} Collective;

static const char* const kNames[kCollectives] = {"all_reduce", "all_gather", "reduce_scatter",
                                                 "broadcast",  "all_to_all", "send_recv"};

// One curve: a collective over the first `count` ranks, or messages between two ranks.
typedef struct {
  Collective collective;
  int count;
  int from, to;   // ranks of a pair; otherwise -1
  MPI_Comm comm;  // MPI_COMM_NULL in ranks that do not take part, and for pairs
  double* took;   // took[size]: seconds per call; 0 if unknown. Only rank 0 knows them
  bool stopped;   // larger sizes would take too long
} Table;

// Numbers of calls in a visit: single calls, and calls back to back.
typedef struct {
  int alone, queued;
} Visit;

typedef struct {
  int rank, world;
  char* hosts;  // one name of MPI_MAX_PROCESSOR_NAME bytes per rank
  Collective collectives[kCollectives];
  int collective_count;
  long long* sizes;
  int size_count;
  int* counts;  // group sizes to measure; the first one is the whole job
  int count_count;
  int repeats;
  double seconds, begin;
  Table* tables;
  int table_count;
  char *send, *receive;  // buffers for the largest size
  char* more;            // two more such buffers, for the second of two calls at once
} Job;

// Writes a line in one piece, so that text of other processes cannot come in between.
static void print_line(const char* format, ...) {
  char line[65536];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof line ||
      write(STDOUT_FILENO, line, (size_t)length) < 0) {
    MPI_Abort(MPI_COMM_WORLD, 1);  // `weft calibrate` no longer reads our output
  }
}

// Reports an error. Every rank must call this with the same error. Returns the exit code.
static int give_up(const Job* job, const char* kind, const char* what) {
  if (job->rank == 0) {
    print_line("weft-calibrate {\"event\": \"error\", \"kind\": \"%s\", \"what\": \"%s\"}\n", kind,
               what);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 1;
}

static const char* host_of(const Job* job, int rank) {
  return job->hosts + (size_t)rank * MPI_MAX_PROCESSOR_NAME;
}

// Rounds a size up to whole elements. If the collective divides the array among the ranks, rounds
// it up so that all parts are equal.
static long long array_bytes(const Table* table, long long bytes) {
  const bool cut = table->collective == kAllGather || table->collective == kReduceScatter ||
                   table->collective == kAllToAll;
  const long long unit = kElement * (cut ? table->count : 1);
  return (bytes + unit - 1) / unit * unit;
}

// Runs the collective of a table once.
static void call(const Job* job, const Table* table, long long bytes) {
  const int elements = (int)(bytes / kElement), part = elements / table->count;
  const int after = (job->rank + 1) % job->world,
            before = (job->rank + job->world - 1) % job->world;
  switch (table->collective) {
    case kAllReduce:
      MPI_Allreduce(job->send, job->receive, elements, MPI_FLOAT, MPI_SUM, table->comm);
      break;
    case kAllGather:
      MPI_Allgather(job->send, part, MPI_FLOAT, job->receive, part, MPI_FLOAT, table->comm);
      break;
    case kReduceScatter:
      MPI_Reduce_scatter_block(job->send, job->receive, part, MPI_FLOAT, MPI_SUM, table->comm);
      break;
    case kBroadcast:
      MPI_Bcast(job->send, elements, MPI_FLOAT, 0, table->comm);
      break;
    case kAllToAll:
      MPI_Alltoall(job->send, part, MPI_FLOAT, job->receive, part, MPI_FLOAT, table->comm);
      break;
    case kSendRecv:  // a ring: every rank sends to the next one at the same time
    case kCollectives:
      MPI_Sendrecv(job->send, elements, MPI_FLOAT, after, 0, job->receive, elements, MPI_FLOAT,
                   before, 0, table->comm, MPI_STATUS_IGNORE);
  }
}

// Runs `calls` all-reduces, two at a time, each of the two with its own buffers. Returns the
// seconds per all-reduce. `calls` must be even.
static double time_two(const Job* job, const Table* table, long long bytes, int calls) {
  const int elements = (int)(bytes / kElement);
  char* more = job->more;
  MPI_Request running[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Barrier(table->comm);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    MPI_Wait(&running[i % 2], MPI_STATUS_IGNORE);
    const bool second = i % 2 == 1;
    MPI_Iallreduce(second ? more : job->send, second ? more + bytes : job->receive, elements,
                   MPI_FLOAT, MPI_SUM, table->comm, &running[i % 2]);
  }
  MPI_Waitall(2, running, MPI_STATUSES_IGNORE);
  const double took = (MPI_Wtime() - start) / calls;
  return took;
}

// Sends `times` messages of `bytes` from the first rank of a pair to the second, then one message
// of `back` bytes in the other direction, which shows that all messages have arrived.
static void round_trip(const Job* job, const Table* table, long long bytes, long long back,
                       int times) {
  const int there = (int)(bytes / kElement), here = (int)(back / kElement);
  const bool first = job->rank == table->from;
  const int other = first ? table->to : table->from;
  for (int i = 0; i < times; ++i) {
    if (first) {
      MPI_Send(job->send, there, MPI_FLOAT, other, 1, MPI_COMM_WORLD);
    } else {
      MPI_Recv(job->receive, there, MPI_FLOAT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (first) {
    MPI_Recv(job->receive, here, MPI_FLOAT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(job->send, here, MPI_FLOAT, other, 2, MPI_COMM_WORLD);
  }
}

// Fills `took` with seconds. The first visit.alone entries are the times of the single calls. The
// next entry is the time per call of calls back to back. The last entry is the time per all-reduce
// if two run at once. The function leaves this entry unchanged if it does not measure that time.
static void measure(const Job* job, const Table* table, long long bytes, Visit visit,
                    double* took) {
  if (table->from >= 0) {
    round_trip(job, table, bytes, bytes, 1);
    for (int i = 0; i < visit.alone; ++i) {
      round_trip(job, table, kElement, kElement, 1);  // both ranks are ready after this
      const double start = MPI_Wtime();
      round_trip(job, table, bytes, bytes, 1);
      took[i] = (MPI_Wtime() - start) / 2;
    }
    const double start = MPI_Wtime();
    round_trip(job, table, bytes, kElement, visit.queued);
    took[visit.alone] = (MPI_Wtime() - start) / visit.queued;
    return;
  }
  call(job, table, bytes);
  for (int i = 0; i < visit.alone; ++i) {
    MPI_Barrier(table->comm);
    const double start = MPI_Wtime();
    call(job, table, bytes);
    took[i] = MPI_Wtime() - start;
  }
  MPI_Barrier(table->comm);
  const double start = MPI_Wtime();
  for (int i = 0; i < visit.queued; ++i) call(job, table, bytes);
  took[visit.alone] = (MPI_Wtime() - start) / visit.queued;
  if (table->collective == kAllReduce && table->count == job->world) {
    took[visit.alone + 1] = time_two(job, table, bytes, visit.queued + visit.queued % 2);
  }
}

static bool takes_part(const Job* job, const Table* table) {
  if (table->from >= 0) return job->rank == table->from || job->rank == table->to;
  return job->rank < table->count;
}

// Seconds until the time of --seconds is over.
static double left(const Job* job) { return job->begin + job->seconds - MPI_Wtime(); }

// Decides how many calls a visit makes. It makes none if it would take too long, but the first pass
// always measures the two smallest sizes. If the time of a size is unknown, it is estimated from
// the time of the next smaller size, in proportion to the bytes. If a size of a table is too slow,
// the first pass skips all larger sizes of this table.
static Visit plan(const Job* job, Table* table, int size, int pass) {
  double seconds = table->took[size];
  for (int smaller = size; seconds == 0 && smaller-- > 0;) {
    seconds = table->took[smaller] * (double)job->sizes[size] / (double)job->sizes[smaller];
  }
  Visit visit = {3, 5};
  if (seconds > 0) {
    visit.alone = (int)fmax(1, fmin(kMostAlone, kAloneSeconds / seconds));
    visit.queued = (int)fmax(3, fmin(kMostQueued, kQueuedSeconds / seconds));
  }
  const double cost = seconds * (1 + visit.alone + 2 * visit.queued);
  const Visit none = {0, 0};
  if (pass > 0) return table->took[size] > 0 && cost < left(job) ? visit : none;
  if (!table->stopped && size >= 2 && cost > left(job) - (1 - kGrowth) * job->seconds) {
    table->stopped = true;
  }
  return table->stopped ? none : visit;
}

// Chooses the time of one single call from the times that all ranks measured. For a broadcast this
// is the longest time, for any other collective the shortest (README.md explains why).
static double transfer_time(const Table* table, const double* all_times, int width, int column) {
  if (table->from >= 0) return all_times[table->from * width + column];
  double chosen = all_times[column];
  for (int rank = 1; rank < table->count; ++rank) {
    const double time = all_times[rank * width + column];
    chosen = table->collective == kBroadcast ? fmax(chosen, time) : fmin(chosen, time);
  }
  return chosen;
}

// Chooses the time of calls back to back: the longest time that any rank measured.
static double longest_time(const Table* table, const double* all_times, int width, int column) {
  if (table->from >= 0) return all_times[table->from * width + column];
  double most = 0;
  for (int rank = 0; rank < table->count; ++rank) {
    most = fmax(most, all_times[rank * width + column]);
  }
  return most;
}

// Writes the result of a visit, and notes its time for plan().
static void print_sample(const Job* job, Table* table, int size, int pass, Visit visit,
                         const double* all_times, int width) {
  char alone[32 * kMostAlone] = "", ends[64] = "", two[64] = "";
  double least = 0;
  for (int i = 0; i < visit.alone; ++i) {
    const double time = transfer_time(table, all_times, width, i);
    least = i == 0 ? time : fmin(least, time);
    const size_t at = strlen(alone);
    snprintf(alone + at, sizeof alone - at, "%s%.3f", i == 0 ? "" : ", ", time * 1e6);
  }
  const double queued = longest_time(table, all_times, width, visit.alone);
  table->took[size] = fmax(fmax(least, queued), 1e-9);
  if (table->from >= 0) {
    snprintf(ends, sizeof ends, ", \"from\": %d, \"to\": %d", table->from, table->to);
  }
  const double both = longest_time(table, all_times, width, visit.alone + 1);
  if (both > 0) snprintf(two, sizeof two, ", \"two_at_once_us\": %.3f", both * 1e6);
  print_line(
      "weft-calibrate {\"event\": \"sample\", \"collective\": \"%s\", \"ranks\": %d, \"bytes\": "
      "%lld, \"number\": %d, \"left_s\": %.1f%s, \"alone_us\": [%s], \"back_to_back_us\": "
      "%.3f%s}\n",
      kNames[table->collective], table->count, array_bytes(table, job->sizes[size]), pass,
      left(job), ends, alone, queued * 1e6, two);
}

// Measures one table at one size. Returns false if rank 0 decided to skip it. All ranks must call
// this function, even if they do not take part in the collective.
static bool visit_table(Job* job, Table* table, int size, int pass, double* all_times) {
  int calls[2] = {0, 0};
  if (job->rank == 0) {
    const Visit planned = plan(job, table, size, pass);
    calls[0] = planned.alone;
    calls[1] = planned.queued;
  }
  MPI_Bcast(calls, 2, MPI_INT, 0, MPI_COMM_WORLD);
  if (calls[0] == 0) return false;
  const Visit visit = {calls[0], calls[1]};
  double my_times[kMostAlone + 2] = {0};
  const int width = visit.alone + 2;
  if (takes_part(job, table)) {
    measure(job, table, array_bytes(table, job->sizes[size]), visit, my_times);
  }
  MPI_Gather(my_times, width, MPI_DOUBLE, all_times, width, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (job->rank == 0) print_sample(job, table, size, pass, visit, all_times, width);
  return true;
}

static void add_table(Job* job, Collective collective, int count, int from, int to) {
  job->tables = realloc(job->tables, (size_t)(job->table_count + 1) * sizeof(Table));
  Table* table = &job->tables[job->table_count++];
  *table = (Table){collective, count, from, to, MPI_COMM_NULL, NULL, false};
  table->took = calloc((size_t)job->size_count, sizeof(double));
  if (from < 0) {
    MPI_Comm_split(MPI_COMM_WORLD, job->rank < count ? 0 : MPI_UNDEFINED, job->rank, &table->comm);
  }
}

// Adds a pair within each host that has two ranks, and a pair between every two hosts. If this
// gives more than kMostPairs pairs, adds one pair within a host, and a pair between each host and
// the next.
static void add_pairs(Job* job) {
  int* first = calloc((size_t)job->world, sizeof(int));
  int* second = calloc((size_t)job->world, sizeof(int));
  int hosts = 0, within = 0;
  for (int rank = 0; rank < job->world; ++rank) {
    int host = 0;
    while (host < hosts && strcmp(host_of(job, first[host]), host_of(job, rank)) != 0) ++host;
    if (host == hosts) {
      first[hosts++] = rank;
    } else if (second[host] == 0) {
      second[host] = rank;
      ++within;
    }
  }
  const bool many = within + hosts * (hosts - 1) / 2 > kMostPairs;
  bool added = false;
  for (int host = 0; host < hosts; ++host) {
    if (second[host] == 0 || (many && added)) continue;
    add_table(job, kSendRecv, 2, first[host], second[host]);
    added = true;
  }
  for (int host = 0; host < hosts; ++host) {
    if (many) {
      add_table(job, kSendRecv, 2, first[host], first[(host + 1) % hosts]);
      continue;
    }
    for (int other = host + 1; other < hosts; ++other) {
      add_table(job, kSendRecv, 2, first[host], first[other]);
    }
  }
  free(first);
  free(second);
}

static void add_tables(Job* job) {
  for (int i = 0; i < job->collective_count; ++i) {
    if (job->collectives[i] == kSendRecv) {
      add_pairs(job);
      if (job->world > 2) add_table(job, kSendRecv, job->world, -1, -1);
      continue;
    }
    for (int k = 0; k < job->count_count; ++k) {
      add_table(job, job->collectives[i], job->counts[k], -1, -1);
    }
  }
}

static void print_start(const Job* job) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\n\"\\")] = '\0';  // "Open MPI v4.1.4, package: ..."
  char* hosts = calloc((size_t)job->world, MPI_MAX_PROCESSOR_NAME + 4);
  for (int rank = 0; rank < job->world; ++rank) {
    sprintf(hosts + strlen(hosts), "%s\"%s\"", rank == 0 ? "" : ", ", host_of(job, rank));
  }
  print_line(
      "weft-calibrate {\"event\": \"start\", \"protocol\": 1, \"ranks\": %d, \"backend\": \"mpi\", "
      "\"dtype\": \"float32\", \"library\": \"%s\", \"device\": \"cpu\", \"passes\": %d, "
      "\"seconds\": %g, \"hosts\": [%s]}\n",
      job->world, version, job->repeats, job->seconds, hosts);
  free(hosts);
}

static void print_end(const Job* job) {
  char cut[256] = "";
  for (int collective = 0; collective < kCollectives; ++collective) {
    bool stopped = false;
    for (int i = 0; i < job->table_count; ++i) {
      stopped |= job->tables[i].stopped && (int)job->tables[i].collective == collective;
    }
    const size_t at = strlen(cut);
    if (stopped) {
      snprintf(cut + at, sizeof cut - at, "%s\"%s\"", at == 0 ? "" : ", ", kNames[collective]);
    }
  }
  print_line("weft-calibrate {\"event\": \"end\", \"cut\": [%s]}\n", cut);
}

// Makes the passes. Every second pass goes in reverse order. Stops when a pass measures nothing
// because the time is over.
static void run(Job* job) {
  double* all_times = calloc((size_t)job->world * (kMostAlone + 2), sizeof(double));
  job->begin = MPI_Wtime();
  for (int pass = 0; pass < job->repeats; ++pass) {
    int measured = 0;
    const int visits = job->size_count * job->table_count;
    for (int i = 0; i < visits; ++i) {
      const int at = pass % 2 == 0 ? i : visits - 1 - i;
      Table* table = &job->tables[at % job->table_count];
      measured += visit_table(job, table, at / job->table_count, pass, all_times);
    }
    if (measured == 0) break;
  }
  free(all_times);
}

// Reads the arguments; lists have the form "a,b,c". Returns false if an argument is invalid. `weft
// calibrate` has already checked the arguments and sorted the sizes.
static bool read_settings(Job* job, int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const bool names = strcmp(argv[i], "--collectives") == 0;
    const bool sizes = strcmp(argv[i], "--sizes") == 0, ranks = strcmp(argv[i], "--ranks") == 0;
    if (strcmp(argv[i], "--repeats") == 0) job->repeats = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--seconds") == 0) job->seconds = atof(argv[i + 1]);
    if (!names && !sizes && !ranks) continue;
    for (char* item = strtok(argv[i + 1], ","); item != NULL; item = strtok(NULL, ",")) {
      const long long number = atoll(item);
      if (sizes && (number < 1 || number > kMostBytes)) return false;
      if (sizes) {
        job->sizes = realloc(job->sizes, (size_t)(job->size_count + 1) * sizeof(long long));
        job->sizes[job->size_count++] = number;
      } else if (ranks && number >= 2 && number < job->world) {
        job->counts = realloc(job->counts, (size_t)(job->count_count + 1) * sizeof(int));
        job->counts[job->count_count++] = (int)number;
      }
      for (int k = 0; names && k < kCollectives && job->collective_count < kCollectives; ++k) {
        if (strcmp(item, kNames[k]) == 0) job->collectives[job->collective_count++] = (Collective)k;
      }
    }
  }
  return job->size_count > 0 && job->collective_count > 0 && job->repeats > 0 && job->seconds > 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Job job = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.world);
  if (job.world < 2) {
    return give_up(&job, "usage", "there is only one rank, which has no links: start two or more");
  }
  job.counts = malloc(sizeof(int));
  job.counts[job.count_count++] = job.world;
  if (!read_settings(&job, argc, argv)) {
    return give_up(&job, "usage", "the settings are not valid; sizes go up to 4 GiB");
  }
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(host, &length);
  job.hosts = calloc((size_t)job.world, MPI_MAX_PROCESSOR_NAME);
  MPI_Allgather(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, job.hosts, MPI_MAX_PROCESSOR_NAME, MPI_CHAR,
                MPI_COMM_WORLD);
  const size_t most = (size_t)job.sizes[job.size_count - 1] + (size_t)kElement * (size_t)job.world;
  job.send = calloc(1, most);
  job.receive = calloc(1, most);
  job.more = calloc(2, most);
  int enough = job.send != NULL && job.receive != NULL && job.more != NULL, all_enough = 0;
  MPI_Allreduce(&enough, &all_enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all_enough) return give_up(&job, "missing", "not enough memory for the largest of --sizes");
  add_tables(&job);
  if (job.rank == 0) print_start(&job);
  run(&job);
  if (job.rank == 0) print_end(&job);
  MPI_Finalize();
  return 0;
}
