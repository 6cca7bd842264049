// SPDX-License-Identifier: Apache-2.0
// Declares the JSON that page_json.cc writes: all data of the page of a job except the timeline.
// Durations are nanoseconds; points in time are nanoseconds from the beginning of the recording, as
// in the timeline. -1 and null mean that a value is unknown.

import type { ScheduleChart } from "./gantt";

/** Time per cause, in the order of CAUSE_KINDS. */
export type CauseTimes = number[];

export interface Finding {
  kind: string;
  what: string;
  /**
   * The rank, step and lane where the finding costs most; -1 or "" if it concerns all ranks, steps
   * or lanes.
   */
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
  /**
   * The part of the timeline that shows the finding, and the span to select. `start` is negative if
   * the timeline has nothing to show for the finding.
   */
  start: number;
  end: number;
  span: number;
}

/** Offset of a rank's clock from the clock of the first rank, with its 95 % confidence interval. */
export interface Clock {
  offset: number;
  uncertainty: number;
  samples: number;
  /** Whether matched events relate this clock to the clocks of other ranks. */
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
  /**
   * Mean of `steps`. All times below are means per step too, unless their comment says otherwise.
   */
  step: number;
  causes: CauseTimes;
  /**
   * Pairs [rank, time]: the time that this rank waits for another rank, longest first. The pair
   * with rank -1 has the time for all other ranks together.
   */
  waiting_for: [number, number][];
  communication: number;
  hidden: number;
  /**
   * The number of collectives of the rank, the number of those at which it arrived last, and the
   * total time that other ranks waited for it.
   */
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

/**
 * The heat map. Its columns are collectives in order of their first arrival. If there are very many
 * collectives, neighbours share a column.
 */
export interface HeatMap {
  /** Total number of collectives. */
  collectives: number;
  columns: HeatColumn[];
  rows: HeatRow[];
}

export interface HeatColumn {
  /**
   * Number of collectives in the column. All other members describe the collective with the largest
   * skew.
   */
  count: number;
  /** Position of the collective with the largest skew among all collectives. */
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
  /**
   * Two columns with one entry per point of the curve. Some points are left out, but never the
   * highest point of an interval.
   */
  times: number[];
  bytes: number[];
  peak: MemoryPeak;
}

/**
 * A step time with its error bar (`low` to `high`), the slowest rank, and the parts of the step of
 * this rank.
 */
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
  /** True if the user asked for this what-if, false if it is one of the standard what-ifs. */
  asked: boolean;
  /**
   * Whether this what-if gives the shortest step of all what-ifs that a user could really choose.
   */
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
  /**
   * For a pipeline: the recorded schedule and, if Weft found a shorter schedule, that one too.
   * Empty for other jobs.
   */
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
