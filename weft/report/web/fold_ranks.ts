// SPDX-License-Identifier: Apache-2.0
// Chooses which ranks get a bar in a chart, because a reader cannot compare a thousand bars. If a
// job has more than 32 ranks, only these ranks get a bar: the slowest ranks, the fastest ranks and
// ranks that are named in findings. A last bar shows the mean of all other ranks.
import { several } from "./figures";
import type { PageData, RankData } from "./page_data";

const MOST = 32;
const SLOWEST = 12;
const FASTEST = 4;

export interface Shown {
  label: string;
  /** One rank, or all ranks whose mean the row shows. */
  ranks: RankData[];
}

/**
 * The rows to show, in ascending order of rank. The row with the mean of the other ranks comes
 * last. A rank with a higher `cost` is slower.
 */
export function foldRanks(page: PageData, cost: (rank: RankData) => number): Shown[] {
  const all = page.ranks;
  const single = (rank: RankData): Shown => ({ label: `rank ${rank.rank}`, ranks: [rank] });
  if (all.length <= MOST) return all.map(single);
  const sorted = [...all].sort((a, b) => cost(b) - cost(a) || a.rank - b.rank);
  const kept = new Set([...sorted.slice(0, SLOWEST), ...sorted.slice(-FASTEST)]);
  const named = new Set([page.late_rank, ...page.findings.map((finding) => finding.rank)]);
  for (const rank of all) if (named.has(rank.rank) && kept.size < MOST) kept.add(rank);
  const rest = all.filter((rank) => !kept.has(rank));
  const label = `${several(rest.length, "other")}, mean`;
  return [...all.filter((rank) => kept.has(rank)).map(single), { label, ranks: rest }];
}

export function mean(shown: Shown, value: (rank: RankData) => number): number {
  return shown.ranks.reduce((sum, rank) => sum + value(rank), 0) / shown.ranks.length;
}

export function meanTimes(shown: Shown, times: (rank: RankData) => number[]): number[] {
  return times(shown.ranks[0]).map((_, i) => mean(shown, (rank) => times(rank)[i]));
}
