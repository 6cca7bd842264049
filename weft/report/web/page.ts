// SPDX-License-Identifier: Apache-2.0
// Entry point of the page of a job: reads the data in the page, shows the sections, and decodes the
// timeline in the background.
import { fromBase64, gunzip } from "./bytes";
import { decodeTimeline } from "./decode";
import { el } from "./dom";
import type { PageData } from "./page_data";
import { mountSections } from "./sections";
import { mountTimeline, TimelineHandle } from "./timeline";

declare global {
  interface Window {
    /** The timeline, for the browser's console and for tests. */
    weft?: { timeline: TimelineHandle };
  }
}

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

async function showTimeline(root: HTMLElement): Promise<TimelineHandle> {
  const packed = fromBase64((byId("timeline-data").textContent ?? "").trim());
  const model = decodeTimeline(await gunzip(packed));
  // In a notebook, the page is in a frame. The address of the frame is about:srcdoc or similar, and
  // a page cannot change such an address.
  const timeline = mountTimeline(root, model, { hash: location.protocol !== "about:" });
  window.weft = { timeline };
  await timeline.drawn;
  performance.mark("weft-drawn");
  return timeline;
}

function showPage(): void {
  const data = JSON.parse(byId("report-data").textContent ?? "") as PageData;
  const root = el("div", {}, el("p", { class: "hint" }, "Unpacking ..."));
  const shown = showTimeline(root);
  // Sections are shown before the timeline is decoded. A jump to the timeline waits until it is
  // decoded.
  mountSections(byId("page"), data, root, (start, end, rank, span) => {
    void shown.then((timeline) => {
      if (span >= 0) timeline.select(span);
      else if (rank >= 0) timeline.showRank(rank);
      timeline.zoomTo(start, end);
      byId("timeline").scrollIntoView();
      root.querySelector<HTMLElement>(".overlay")?.focus({ preventScroll: true });
    });
  });
  shown.catch((error: Error) => {
    root.textContent = `The timeline cannot be shown: ${error.message}`;
    console.error(error);
  });
}

showPage();
