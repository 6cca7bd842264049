// SPDX-License-Identifier: Apache-2.0
// Causes and parts of a step: their names and colours, the same in every picture.
import { el } from "./dom";
import type { CauseTimes, Parts } from "./page_data";

export interface Kind {
  /** As JSON spells it. */
  name: string;
  label: string;
  /** Custom property of the style sheet. */
  colour: string;
  meaning: string;
}

function kind(name: string, label: string, meaning: string, colour = name): Kind {
  return { name, label, colour: `var(--weft-${colour.replace(/_/g, "-")})`, meaning };
}

/** In the order in which the library numbers them. */
export const CAUSE_KINDS: readonly Kind[] = [
  kind("compute", "compute", "a kernel runs"),
  kind("memory_copy", "memory copies", "a copy or memset runs, nothing is computed"),
  kind("exposed_transfer", "exposed transfer", "data moves between ranks, and nothing hides it"),
  kind("waiting", "waiting", "ready to communicate, another rank is not"),
  kind("data_loading", "data loading", "the device is idle while the host fetches a batch"),
  kind("host_launch", "host launch", "the device is idle until the host launches work"),
  kind("idle", "idle", "nothing recorded explains it"),
];

/** What predictions tell apart. */
export const PART_KINDS: readonly Kind[] = [
  kind("compute", "compute", "the device computes or copies"),
  kind("communication", "exposed communication", "data moves, and nothing hides it", "exposed_transfer"),
  kind("waiting", "waiting", "ready to communicate, another rank is not"),
  kind("host", "host", "nothing runs, as nothing was launched yet", "host_launch"),
];

export function partTimes(parts: Parts): number[] {
  return [parts.compute, parts.communication, parts.waiting, parts.host];
}

/** Kinds that occur in any of the lists. */
export function occurring(kinds: readonly Kind[], lists: CauseTimes[]): number[] {
  return kinds.map((_, i) => i).filter((i) => lists.some((times) => times[i] > 0));
}

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
