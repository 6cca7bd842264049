// SPDX-License-Identifier: Apache-2.0
// Makes the table of messages between pairs of ranks, which shows the links that are slower than
// others.
import { el } from "./dom";
import { formatBytes, formatTime } from "./format";
import { linkBandwidth, LinkPage, LinkPair } from "./link_data";
import { Section, section } from "./section";
import { table } from "./data_table";

/** Bandwidth of a pair for the largest size, in MB/s. */
function speed(pair: LinkPair): number {
  return linkBandwidth(pair.rows);
}

/** A bar whose length shows the ratio of a bandwidth to the best bandwidth. */
function bar(value: number, best: number): HTMLElement {
  const width = `width: ${((100 * value) / best).toFixed(1)}%`;
  return el("div", { class: "link-bar" }, el("i", { style: width }));
}

/** Null if no pairs were measured. */
export function linkPairs(page: LinkPage): Section | null {
  const pairs = page.tables.flatMap((one) => one.pairs).sort((a, b) => speed(a) - speed(b));
  if (pairs.length === 0) return null;
  const best = Math.max(...pairs.map(speed));
  const rows = pairs.map((pair) => [
    `${pair.from} and ${pair.to}`,
    pair.same_host ? pair.from_host : `${pair.from_host}, ${pair.to_host}`,
    formatTime(pair.rows[0].time),
    `${formatBytes(speed(pair) * 1e6)}/s`,
    bar(speed(pair), best),
  ]);
  const columns = [
    { title: "ranks", text: true },
    { title: "hosts", text: true },
    { title: "latency" },
    { title: "bandwidth" },
    { title: "share of the best", text: true },
  ];
  return section(
    "pairs",
    "Messages between two ranks",
    "Half the time of a message and its answer, one message at a time. The slowest pair comes first.",
    el("div", { class: "scroll" }, table("messages between pairs of ranks", columns, rows)),
  );
}
