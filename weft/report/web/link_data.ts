// SPDX-License-Identifier: Apache-2.0
// Declares the JSON that links_page.cc writes: measured link tables. Times are nanoseconds; 0 means
// that the value was not measured. docs/formats/links.md describes the members of a table.

/**
 * The measured times for one size. `time` is the time that predictions use. `alone` is the median time of single calls, `spread` is the
 * interquartile range of these times.
 */
export interface LinkRow {
  bytes: number;
  time: number;
  alone: number;
  shortest: number;
  spread: number;
  back_to_back: number;
  two_at_once: number;
  calls: number;
}

export interface LinkPair {
  from: number;
  to: number;
  from_host: string;
  to_host: string;
  same_host: boolean;
  rows: LinkRow[];
}

export interface LinkTable {
  collective: string;
  ranks: number;
  dtype: string;
  rows: LinkRow[];
  pairs: LinkPair[];
}

export interface LinkPage {
  version: string;
  file: string;
  /** Where the tables come from, one string per fact. */
  facts: string[];
  tables: LinkTable[];
  commands: { command: string; what: string }[];
}

/**
 * The three ways in which calls of one size are timed, and the dash pattern of the curve for each
 * way.
 */
export const WAYS = [
  { key: "alone", name: "alone", dash: "" },
  { key: "back_to_back", name: "back to back", dash: "7 4" },
  { key: "two_at_once", name: "two at once", dash: "2 3" },
] as const;

/** "all_reduce, 4 ranks" */
export function curveName(table: LinkTable): string {
  return `${table.collective}, ${table.ranks} ranks`;
}

/** Size of the array divided by the time, in megabytes per second. */
export function bandwidth(bytes: number, nanos: number): number {
  return (bytes / nanos) * 1e3;
}

/**
 * Bandwidth of a table or of a pair of ranks, in megabytes per second: that of the largest size.
 * `weft info` shows the same figure. A smaller size can exceed the rate of the link, because the
 * buffers of a rate limiter absorb it.
 */
export function linkBandwidth(rows: LinkRow[]): number {
  const largest = rows[rows.length - 1];
  return bandwidth(largest.bytes, largest.time);
}
