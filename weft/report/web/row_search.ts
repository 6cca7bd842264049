// SPDX-License-Identifier: Apache-2.0
// Searches in sorted spans: the first span after a time, the longest span of a range, the span at a point.
import type { Row, TimelineModel } from "./model";

/** First i in [from, to) with values[i] > limit; `to` if there is none. */
export function firstAbove(values: Float64Array, from: number, to: number, limit: number): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] > limit) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Like firstAbove(), but faster if the result is near `from` (exponential search). */
export function gallop(values: Float64Array, from: number, to: number, limit: number): number {
  let step = 1;
  let low = from;
  while (from < to && !(values[from] > limit)) {
    low = from + 1;
    from += step;
    step *= 2;
  }
  return firstAbove(values, low, Math.min(from, to), limit);
}

const FAN = 16;

/**
 * Finds the longest span of a range in logarithmic time: level k has the longest span of each block of
 * FAN^(k+1) spans. A pixel of a zoomed-out row can cover thousands of spans; looking at each of them
 * would be too slow. Building the index is linear.
 */
export class LongestIndex {
  private readonly levels: Uint32Array[] = [];

  constructor(private readonly start: Float64Array, private readonly end: Float64Array) {
    for (let below: Uint32Array | null = null, n = start.length; n > FAN; ) {
      const level: Uint32Array = new Uint32Array(Math.ceil(n / FAN));
      for (let i = 0; i < level.length; ++i) {
        const last = Math.min(n, (i + 1) * FAN);
        let best = below ? below[i * FAN] : i * FAN;
        for (let j = i * FAN + 1; j < last; ++j) best = this.longer(best, below ? below[j] : j);
        level[i] = best;
      }
      this.levels.push(level);
      below = level;
      n = level.length;
    }
  }

  /** The longest of spans [from, to), which must not be empty. */
  find(from: number, to: number): number {
    return this.findAt(-1, from, to, from);
  }

  private findAt(level: number, from: number, to: number, best: number): number {
    const items = level < 0 ? null : this.levels[level];
    const at = (i: number) => (items ? items[i] : i);
    if (to - from <= 2 * FAN || level + 1 >= this.levels.length) {
      for (let i = from; i < to; ++i) best = this.longer(best, at(i));
      return best;
    }
    // Whole blocks are looked up in the level above; the ends of the range are searched here.
    const inner = Math.ceil(from / FAN);
    const outer = Math.floor(to / FAN);
    for (let i = from; i < inner * FAN; ++i) best = this.longer(best, at(i));
    for (let i = outer * FAN; i < to; ++i) best = this.longer(best, at(i));
    return inner < outer ? this.findAt(level + 1, inner, outer, best) : best;
  }

  private longer(a: number, b: number): number {
    return this.end[b] - this.start[b] > this.end[a] - this.start[a] ? b : a;
  }
}

/**
 * The span of the row that contains `time`, if it is longer than 2 * `slack`. Else the longest span within
 * `slack` of `time`, because that is the one whose colour the pixel has. -1 if there is none.
 */
export function spanAt(
  model: TimelineModel,
  longest: LongestIndex,
  row: Row,
  time: number,
  slack: number,
): number {
  const { start, end } = model.spans;
  const first = firstAbove(end, row.first, row.last, time - slack);
  const last = firstAbove(start, first, row.last, time + slack);
  if (first >= last) return -1;
  const under = firstAbove(end, first, last, time);
  if (under < last && start[under] <= time && end[under] - start[under] > 2 * slack) return under;
  return longest.find(first, last);
}
