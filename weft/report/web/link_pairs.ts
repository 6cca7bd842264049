// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks, pair by pair: links that are slower than others stand out.
import { el } from "./dom";
import { formatBytes, formatTime } from "./format";
import { bandwidth, LinkPage, LinkPair } from "./link_data";
import { Section, section } from "./section";
import { table } from "./table_twin";

function peak(pair: LinkPair): number {
  return Math.max(...pair.rows.map((row) => bandwidth(row.bytes, row.alone)));
}

/** A bar as long as its share of the best. */
function bar(value: number, best: number): HTMLElement {
  const width = `width: ${((100 * value) / best).toFixed(1)}%`;
  return el("div", { class: "link-bar" }, el("i", { style: width }));
}

/** Null where no pairs were measured. */
export function linkPairs(page: LinkPage): Section | null {
  const pairs = page.tables.flatMap((one) => one.pairs).sort((a, b) => peak(a) - peak(b));
  if (pairs.length === 0) return null;
  const best = Math.max(...pairs.map(peak));
  const rows = pairs.map((pair) => [
    `${pair.from} and ${pair.to}`,
    pair.same_host ? pair.from_host : `${pair.from_host}, ${pair.to_host}`,
    formatTime(pair.rows[0].alone),
    `${formatBytes(peak(pair) * 1e6)}/s`,
    bar(peak(pair), best),
  ]);
  const columns = [
    { title: "ranks", text: true },
    { title: "hosts", text: true },
    { title: "latency" },
    { title: "bandwidth" },
    { title: "of the best", text: true },
  ];
  return section(
    "pairs",
    "Messages between two ranks",
    "One message at a time, there and back, halved; slowest first.",
    el("div", { class: "scroll" }, table("messages between pairs of ranks", columns, rows)),
  );
}
