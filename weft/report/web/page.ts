// SPDX-License-Identifier: Apache-2.0
// The report: finds its data in the page and fills the sections.
import { fromBase64, gunzip } from "./bytes";
import { decodeTimeline } from "./decode";
import { followTheme } from "./theme";
import { mountTimeline, TimelineHandle } from "./timeline";

declare global {
  interface Window {
    /** For the console and for tests. */
    weft?: { timeline: TimelineHandle };
  }
}

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

async function showTimeline(): Promise<void> {
  const packed = fromBase64((byId("timeline-data").textContent ?? "").trim());
  const model = decodeTimeline(await gunzip(packed));
  const timeline = mountTimeline(byId("timeline"), model, { hash: true });
  window.weft = { timeline };
  await timeline.drawn;
  performance.mark("weft-drawn");
}

followTheme(byId("theme"));
showTimeline().catch((error: Error) => {
  byId("timeline").textContent = `The timeline cannot be shown: ${error.message}`;
  console.error(error);
});
