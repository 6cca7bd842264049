// SPDX-License-Identifier: Apache-2.0
// Stores the view of the timeline in the fragment of the page's address (the part after #), so that
// a link or a reload shows the same view.
import type { View } from "./view";

export interface SavedView {
  view: View | null;
  selected: number;
  query: string;
  path: boolean;
}

/**
 * Reads "#t=START_END&span=12&find=gemm&path=1", with times in nanoseconds. Missing or invalid fields get
 * their defaults: no view, no selection, no search, no path.
 */
export function readHash(hash: string): SavedView {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const times = /^(-?\d+)_(-?\d+)$/.exec(fields.get("t") ?? "");
  const view = times ? { start: Number(times[1]), end: Number(times[2]) } : null;
  return {
    view: view && view.end > view.start ? view : null,
    selected: fields.has("span") ? Number(fields.get("span")) : -1,
    query: fields.get("find") ?? "",
    path: fields.get("path") === "1",
  };
}

export function writeHash({ view, selected, query, path }: SavedView): string {
  const fields = new URLSearchParams();
  if (view) fields.set("t", `${Math.round(view.start)}_${Math.round(view.end)}`);
  if (selected >= 0) fields.set("span", String(selected));
  if (query) fields.set("find", query);
  if (path) fields.set("path", "1");
  return `#${fields}`;
}
