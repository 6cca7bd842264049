// SPDX-License-Identifier: Apache-2.0
// The JSON that page_json.cc writes: all data of the page of a job except the timeline. Durations are
// nanoseconds; points in time are nanoseconds from the beginning of the recording, as in the timeline.
// -1 and null mean that a value is unknown.

import type { ScheduleChart } from "./gantt";

/** Time per cause, in the order of CAUSE_KINDS. */
export type CauseTimes = number[];

export interface Finding {
  kind: string;
  what: string;
  /** The rank, step and lane where it costs most; -1 or "" if it concerns all of them. */
  rank: number;
  step: number;
  lane: string;
  ranks: number[];
  /** How much shorter the step of the slowest rank would be without the finding. */
  gain: number;
  /** Time that the ops of the finding lose, and the number of these ops. */
  time: number;
  count: number;
  advice: string;
  what_if: string;
  command: string;
  /** The view of the timeline that shows the finding, and the span to select; start < 0 if there is none. */
  start: number;
  end: number;
  span: number;
}

/** Offset of a rank's clock against the first rank, with its 95 % interval. */
export interface Clock {
  offset: number;
  uncertainty: number;
  samples: number;
  /** Whether matched events connect this clock to the others. */
  tied: boolean;
}

export interface MemoryPeak {
  device: number;
  source: MemorySource;
  bytes: number;
  time: number;
  step: number;
  op: string;
}

export interface RankData {
  rank: number;
  /** Time of each complete step. */
  steps: number[];
  /** Mean of `steps`; all times below are per step too, unless they say otherwise. */
  step: number;
  causes: CauseTimes;
  /** [rank, time]: the waiting time divided by the rank that arrived last, longest first; -1: all others. */
  waiting_for: [number, number][];
  communication: number;
  hidden: number;
  /** Collectives of the rank, those at which it arrived last, and the total time others waited for it. */
  collectives: number;
  came_last: number;
  made_wait: number;
  /** Total time of the pieces of the critical path on this rank. */
  on_path: number;
  /** Largest relative error of the replay over the steps of the rank. */
  replay_error: number;
  clock: Clock;
  memory: MemoryPeak | null;
}

/** Collectives in order of their first arrival. If there are very many, neighbours share a column. */
export interface HeatMap {
  /** Total number of collectives. */
  collectives: number;
  columns: HeatColumn[];
  rows: HeatRow[];
}

export interface HeatColumn {
  /** Number of collectives in the column; all other members are those of the one with the largest skew. */
  count: number;
  /** Position of this collective among all collectives. */
  index: number;
  kind: string;
  group: string;
  bytes: number;
  step: number;
  first: number;
  last: number;
  end: number;
  last_rank: number;
}

export interface HeatRow {
  rank: number;
  /** Largest lateness in each column; -1 if the rank takes no part. */
  late_by: number[];
}

export type MemorySource = "allocator" | "allocations" | "estimated";

export interface MemoryCurve {
  rank: number;
  device: number;
  source: MemorySource;
  /** Columns with one entry per point. Points were left out, but never the highest of an interval. */
  times: number[];
  bytes: number[];
  peak: MemoryPeak;
}

/** A step time with its error bar, the slowest rank, and the parts of that rank's step. */
export interface Step {
  step: number;
  low: number;
  high: number;
  rank: number;
  parts: Parts;
}

/** The parts of a predicted step, which are coarser than causes. */
export interface Parts {
  compute: number;
  communication: number;
  waiting: number;
  host: number;
}

export interface Answer extends Step {
  what_if: string;
  /** Whether the user asked for it; else it is one of the standard what-ifs. */
  asked: boolean;
  /** Whether it gives the shortest step of all what-ifs that a user could really choose. */
  best: boolean;
}

export interface Diagnostic {
  id: string;
  severity: "info" | "warning" | "data loss";
  count: number;
  what: string;
  advice: string;
  places: string[];
}

export interface PageData {
  version: string;
  job: {
    label: string;
    world: number;
    devices: string[];
    format: string;
    from_phases: boolean;
    steps: number[];
  };
  verdict: string;
  step: number;
  late_rank: number;
  findings: Finding[];
  ranks: RankData[];
  path: { length: number; causes: CauseTimes };
  heat_map: HeatMap;
  memory: MemoryCurve[];
  /** For a pipeline: the recorded schedule and, if there is one, a shorter one. Else empty. */
  schedules: ScheduleChart[];
  what_if: { recorded: Step; baseline: Step; answers: Answer[]; measured_links: boolean };
  quality: {
    diagnostics: Diagnostic[];
    replayed_step: number;
    replay_error: number;
    ops: number;
    edges: number;
    inferred_edges: number;
    interference: number;
    overhead_per_event: number;
  };
  reproduce: { commands: { command: string; what: string }[]; inputs: string[]; links: string[] };
}

/** Shows an interval in the timeline. Opens a rank (-1: none) or selects a span (-1: none). */
export type Jump = (start: number, end: number, rank: number, span: number) => void;
