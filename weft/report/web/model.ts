// SPDX-License-Identifier: Apache-2.0
// Declares the data of the timeline in the browser, as columns in typed arrays. Times are
// nanoseconds from the beginning of the recording. Spans, rows, lanes and ranks are identified by
// their index.

export type LaneGroup = "stream" | "track" | "ranges" | "host";

export interface Rank {
  rank: number;
  /** Host, or stage and replica; may be empty. */
  place: string;
  /**
   * Index of the first rank with about the same times; the rank's own index if no earlier rank is
   * similar.
   */
  like: number;
}

export interface Lane {
  rank: number;
  group: LaneGroup;
  device: number;
  name: string;
}

/** A row shows spans [first, last). These spans do not overlap and are sorted by time. */
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
  /** -1 if unknown. */
  bytes: number;
  sequence: number;
  /** The transfer starts at the last arrival and ends at `end`. */
  lastArrival: number;
  end: number;
  /** Spans, one per member. */
  members: number[];
}

export interface Path {
  /** Columns with one entry per piece of the path; -1 if a piece has no span or no lane. */
  span: Int32Array;
  lane: Int32Array;
  start: Float64Array;
  end: Float64Array;
  cause: Uint8Array;
  /** All spans on the path, in ascending order, without duplicates. */
  spans: Uint32Array;
}

export interface Spans {
  start: Float64Array;
  end: Float64Array;
  label: Uint32Array;
  step: Int32Array;
  /** Number of recorded spans that each span stands for; empty if no spans were merged. */
  count: Uint32Array;
  /**
   * Running sum: busyBefore[i] is the busy time of all spans with an index below i, over all rows.
   */
  busyBefore: Float64Array;
  row: Uint32Array;
}

export interface TimelineModel {
  recordedSpans: number;
  classes: string[];
  /** Names of causes. The entries of Path.cause are indices into this list. */
  causes: string[];
  /**
   * Three columns with one entry per label: its name, the shortened name that is painted on spans,
   * and its class.
   */
  names: string[];
  shortNames: string[];
  labelClass: Uint8Array;
  ranks: Rank[];
  lanes: Lane[];
  rows: Row[];
  spans: Spans;
  steps: Step[];
  /** Two columns of spans, sorted by `work`: the span call[i] launched the span work[i]. */
  launches: { call: Uint32Array; work: Uint32Array };
  collectives: Collective[];
  /** Maps a span to an index into `collectives`. */
  collectiveOf: Map<number, number>;
  path: Path;
  /** Start of the first span: 0, or slightly negative if a host event precedes the first op. */
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
