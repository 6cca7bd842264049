// SPDX-License-Identifier: Apache-2.0
// Searches in sorted spans. Finds the first span after a time, the longest span of a range, and the
// span at a point.
import type { Row, TimelineModel } from "./model";

/**
 * The first i in [from, to) with values[i] > limit; `to` if there is none. `values` must be
 * ascending there.
 */
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
 * An index that finds the longest span of a range in logarithmic time. Level k of the index stores
 * the longest span of each block of FAN^(k+1) spans. It is needed because a pixel can cover
 * thousands of spans, and looking at each of them would be too slow. Building the index takes
 * linear time.
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
    // Whole blocks are looked up in the next level. Items at the two ends of the range that do not
    // fill a block are searched in this level.
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
 * The span that the user sees at `time` in the row. If a span that is longer than 2 * `slack`
 * contains `time`, the result is this span. Else the result is the longest span that is at most
 * `slack` away from `time`, because the pixel has the colour of this span. -1 if there is none.
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
