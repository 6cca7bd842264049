// SPDX-License-Identifier: Apache-2.0
// The timeline in the browser: columns as typed arrays. Times are nanoseconds from the beginning of
// the recording; spans, rows, lanes and ranks are known by their index.

export type LaneGroup = "stream" | "track" | "ranges" | "host";

export interface Rank {
  rank: number;
  place: string;
  /** Index of the rank that stands for it; its own where it stands for itself. */
  like: number;
}

export interface Lane {
  rank: number;
  group: LaneGroup;
  device: number;
  name: string;
}

/** Spans [first, last) of a row do not overlap and are in order of time. */
export interface Row {
  lane: number;
  depth: number;
  first: number;
  last: number;
}

export interface Step {
  number: number;
  start: number;
  end: number;
}

export interface Collective {
  kind: string;
  group: string;
  /** -1: unknown */
  bytes: number;
  sequence: number;
  /** Data moves from the last arrival to the end. */
  lastArrival: number;
  end: number;
  /** Spans, one a member. */
  members: number[];
}

export interface Path {
  /** Columns, one entry a piece; -1 where a piece has no span or lane. */
  span: Int32Array;
  lane: Int32Array;
  start: Float64Array;
  end: Float64Array;
  cause: Uint8Array;
  /** All spans on the path, each once, ascending. */
  spans: Uint32Array;
}

export interface Spans {
  start: Float64Array;
  end: Float64Array;
  label: Uint32Array;
  step: Int32Array;
  /** How many were put together; empty where none were. */
  count: Uint32Array;
  /** busyBefore[i]: time of all spans before i, over all rows. */
  busyBefore: Float64Array;
  row: Uint32Array;
}

export interface TimelineModel {
  recordedSpans: number;
  classes: string[];
  /** Of pieces of the critical path. */
  causes: string[];
  /** Of each label: its name, the name as shown in a span, its class. */
  names: string[];
  shortNames: string[];
  labelClass: Uint8Array;
  ranks: Rank[];
  lanes: Lane[];
  rows: Row[];
  spans: Spans;
  steps: Step[];
  /** Parallel columns, by work. */
  launches: { call: Uint32Array; work: Uint32Array };
  collectives: Collective[];
  /** Span -> index into collectives. */
  collectiveOf: Map<number, number>;
  path: Path;
  /** Start of the first span: 0, or a little before where hosts did something before the first op. */
  begin: number;
  /** End of the last span. */
  length: number;
}

export function laneOf(model: TimelineModel, span: number): Lane {
  return model.lanes[model.rows[model.spans.row[span]].lane];
}

export function rankNumber(model: TimelineModel, span: number): number {
  return model.ranks[laneOf(model, span).rank].rank;
}

export function busyOf(model: TimelineModel, span: number): number {
  return model.spans.busyBefore[span + 1] - model.spans.busyBefore[span];
}
