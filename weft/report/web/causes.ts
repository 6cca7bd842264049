// SPDX-License-Identifier: Apache-2.0
// Defines the names, colours and meanings of the causes and parts of a step. All charts use these
// definitions, so that a cause has the same colour everywhere.
import { el } from "./dom";
import type { CauseTimes, Parts } from "./page_data";

export interface Kind {
  /** Name in the JSON data. */
  name: string;
  label: string;
  /** CSS colour: a custom property of colours.css. */
  colour: string;
  /** Tool tip of the legend. */
  meaning: string;
}

function kind(name: string, label: string, meaning: string, colour = name): Kind {
  return { name, label, colour: `var(--weft-${colour.replace(/_/g, "-")})`, meaning };
}

/**
 * The causes in the order of diagnose::Cause in C++. The lists of times in the page's data have the
 * same order.
 */
export const CAUSE_KINDS: readonly Kind[] = [
  kind("compute", "compute", "a kernel runs"),
  kind("memory_copy", "memory copies", "a copy or memset runs and no kernel does"),
  kind("exposed_transfer", "exposed transfer", "data moves between ranks and nothing else runs"),
  kind("waiting", "waiting", "this rank is ready to communicate and waits for another rank"),
  kind("data_loading", "data loading", "the device is idle while the host fetches a batch"),
  kind("host_launch", "host launch", "the device is idle until the host launches work"),
  kind("idle", "idle", "the device is idle and no recorded event explains why"),
];

/** The parts of a predicted step, which are coarser than causes. */
export const PART_KINDS: readonly Kind[] = [
  kind("compute", "compute", "the device computes or copies"),
  kind("communication", "exposed communication", "data moves between ranks and nothing else runs", "exposed_transfer"),
  kind("waiting", "waiting", "this rank is ready to communicate and waits for another rank"),
  kind(
    "host",
    "idle",
    "the device has no work: the host loads data, has not launched work, or no recorded event explains why",
    "host_launch",
  ),
];

export function partTimes(parts: Parts): number[] {
  return [parts.compute, parts.communication, parts.waiting, parts.host];
}

/** Indices of the kinds that have a time above zero in at least one of the lists. */
export function occurring(kinds: readonly Kind[], lists: CauseTimes[]): number[] {
  return kinds.map((_, i) => i).filter((i) => lists.some((times) => times[i] > 0));
}

/** The legend of some kinds. `shown` has their indices in `kinds`. */
export function legend(kinds: readonly Kind[], shown: number[]): HTMLElement {
  const items = shown.map((i) =>
    el(
      "li",
      { title: kinds[i].meaning },
      el("i", { class: "swatch", style: `background:${kinds[i].colour}` }),
      kinds[i].label,
    ),
  );
  return el("ul", { class: "legend" }, ...items);
}
