// SPDX-License-Identifier: Apache-2.0
// Finds spans by a part of their name.
import type { TimelineModel } from "./model";

/**
 * The ids of all spans whose name contains `query`, in ascending order. Case is ignored. An empty
 * query has no hits.
 */
export function findSpans(model: TimelineModel, query: string): Uint32Array {
  const text = query.trim().toLowerCase();
  if (text === "") return new Uint32Array(0);
  const isHit = model.names.map((name) => name.toLowerCase().includes(text));
  const hits: number[] = [];
  const { label } = model.spans;
  for (let i = 0; i < label.length; ++i) if (isHit[label[i]]) hits.push(i);
  return Uint32Array.from(hits);
}

/**
 * The next hit after `from`, or the previous hit before `from` if `back` is true. Hits of all rows
 * are ordered by start time, and by id if they have the same start. After the last hit comes the
 * first hit again. -1 if there are no hits.
 */
export function nextHit(model: TimelineModel, hits: Uint32Array, from: number, back: boolean): number {
  if (hits.length === 0) return -1;
  const { start } = model.spans;
  const isBefore = (a: number, b: number) => start[a] < start[b] || (start[a] === start[b] && a < b);
  let best = -1;
  let edge = -1;
  for (const hit of hits) {
    if (edge < 0 || isBefore(hit, edge) !== back) edge = hit;
    if (from < 0 || hit === from || isBefore(hit, from) !== back) continue;
    if (best < 0 || isBefore(hit, best) !== back) best = hit;
  }
  return best >= 0 ? best : edge;
}
