// SPDX-License-Identifier: Apache-2.0
// Puts the timeline together. mountTimeline() puts it into an element and returns a handle. The
// class Timeline holds the state (view, selection, search, folds) and connects the other modules.
// After every change of the state it calls changed(), which requests a frame and saves the view in
// the page's address.
import type { ToolbarActions } from "./toolbar";
import { element, showDetails } from "./details";
import { formatTime } from "./format";
import { Gutter } from "./gutter";
import { readHash, writeHash } from "./hash";
import { handleKey } from "./keys";
import { Folds, Layout, placeRows, reveal, rowAt } from "./layout";
import { rankNumber, TimelineModel } from "./model";
import { Box, spanBox } from "./overlay";
import { styleOf } from "./palette";
import { listenToPointer } from "./pointer";
import { LongestIndex, spanAt } from "./row_search";
import { findSpans, nextHit } from "./search";
import { Stage } from "./stage";
import { visibleTable } from "./table";
import { legend, Toolbar } from "./toolbar";
import { around, clampView, fitAll, pan, View, xToTime, zoom } from "./view";
import { spanAcross, spanBeside } from "./walk";

export interface TimelineOptions {
  /** Whether to keep the view in the address of the page. */
  hash?: boolean;
}

/** Times are nanoseconds from the beginning of the recording. */
export interface TimelineHandle {
  zoomTo(start: number, end: number): void;
  fit(): void;
  /** Selects a span, opens its rank and lane and scrolls to it; -1 clears the selection. */
  select(span: number): void;
  /**
   * Shows or hides the critical path. If it is shown, the ranks on it are opened, unless there are
   * too many.
   */
  showPath(on: boolean): void;
  /** Opens a rank (by its number) and scrolls to it. */
  showRank(rank: number): void;
  /** Highlights all spans whose name contains the text; returns the number of hits. */
  search(text: string): number;
  view(): View;
  selected(): number;
  isPathShown(): boolean;
  /** Place of a span on the canvas, in CSS pixels; null if the row of the span is folded. */
  boxOf(span: number): Box | null;
  readonly model: TimelineModel;
  /** Resolves when the first frame with data is on the canvas. */
  readonly drawn: Promise<void>;
}

class Timeline implements ToolbarActions, TimelineHandle {
  readonly drawn: Promise<void>;
  private readonly longest: LongestIndex;
  private readonly folds: Folds;
  private readonly stage: Stage;
  private readonly toolbar: Toolbar;
  private readonly gutter: Gutter;
  private readonly details = element("section", "", "details");
  private layout: Layout;
  private current: View;
  private selection = -1;
  private hovered = -1;
  private hits = new Uint32Array(0);
  private query = "";
  private path = false;
  private mark: View | null = null;
  private pointerInside = false;
  private saving = 0;

  constructor(
    private readonly root: HTMLElement,
    readonly model: TimelineModel,
    private readonly options: TimelineOptions,
  ) {
    this.longest = new LongestIndex(model.spans.start, model.spans.end);
    this.folds = new Folds(model);
    this.layout = placeRows(model, this.folds);
    this.current = fitAll(model);
    this.toolbar = new Toolbar(model, this);
    const goTo = (time: number): void => this.centre(time);
    this.stage = new Stage(model, this.longest, () => this.frame(), goTo);
    this.gutter = new Gutter(this.stage.gutter, model, {
      toggleRank: (rank) => this.fold(() => (this.folds.ranks[rank] = !this.folds.ranks[rank])),
      toggleLane: (lane) => this.fold(() => (this.folds.lanes[lane] = !this.folds.lanes[lane])),
    });
    this.build();
    this.listen();
    this.restore();
    this.drawn = this.stage.drawn;
    this.refreshLayout();
  }

  // Functions of TimelineHandle.
  zoomTo(start: number, end: number): void {
    this.setView(clampView({ start, end }, this.model));
  }
  fit(): void {
    this.fitAll();
  }
  select(span: number): void {
    if (!(span < this.model.spans.start.length)) span = -1;
    this.setSelection(span);
    if (span < 0) return;
    if (reveal(this.model, this.folds, this.model.spans.row[span])) this.refreshLayout();
    this.bringIntoView(span);
  }
  showPath(on: boolean): void {
    this.path = on && this.model.path.start.length > 0;
    this.toolbar.showPath(this.path);
    if (this.path) this.folds.openPath(this.model);
    this.refreshLayout();
  }
  showRank(rank: number): void {
    const index = this.model.ranks.findIndex((item) => item.rank === rank);
    if (index < 0) return;
    this.fold(() => (this.folds.ranks[index] = false));
    this.stage.scroller.scrollTop = this.layout.ranks[index].y;
  }
  view(): View {
    return { ...this.current };
  }
  selected(): number {
    return this.selection;
  }
  isPathShown(): boolean {
    return this.path;
  }
  boxOf(span: number): Box | null {
    const { layout, current: view } = this;
    const { top, width } = this.stage;
    return spanBox(this.model, { layout, view, top, width }, span);
  }
  search(text: string): number {
    this.query = text;
    this.hits = findSpans(this.model, text);
    this.toolbar.showHits(text, this.hits.length);
    this.changed();
    return this.hits.length;
  }

  // Functions of ToolbarActions, which keys, buttons and the pointer call.
  zoomBy(factor: number, at?: number): void {
    const { start, end } = this.current;
    const selected = this.selection >= 0 ? this.middleOf(this.selection) : NaN;
    const isSeen = selected >= start && selected <= end;
    this.setView(zoom(this.current, factor, at ?? (isSeen ? selected : (start + end) / 2), this.model));
  }
  panBy(share: number): void {
    this.setView(pan(this.current, share, this.model));
  }
  scrollBy(pixels: number): void {
    this.stage.scroller.scrollTop += pixels;
  }
  fitAll(): void {
    this.setView(fitAll(this.model));
  }
  fitSelection(): void {
    const { start, end } = this.model.spans;
    const interval = this.selection >= 0 ? { start: start[this.selection], end: end[this.selection] } : this.mark;
    if (interval) this.setView(around(interval.start, interval.end, this.model));
  }
  selectBeside(by: 1 | -1): void {
    const next = spanBeside(this.model, this.selection, by);
    if (next >= 0) this.select(next);
  }
  selectAcross(by: 1 | -1): void {
    const next = spanAcross(this.model, this.longest, this.layout, this.current, this.selection, by);
    if (next >= 0) this.select(next);
  }
  hasSelection(): boolean {
    return this.selection >= 0;
  }
  clear(): void {
    this.mark = null;
    this.search("");
    this.setSelection(-1);
  }
  toggleMark(): void {
    const { start, end } = this.model.spans;
    const hasNew = this.selection >= 0 && this.mark?.start !== start[this.selection];
    this.mark = hasNew ? { start: start[this.selection], end: end[this.selection] } : null;
    this.changed();
  }
  togglePath(): void {
    this.showPath(!this.path);
  }
  toggleRankFold(): void {
    if (this.selection < 0) return;
    const rank = this.model.lanes[this.model.rows[this.model.spans.row[this.selection]].lane].rank;
    this.fold(() => (this.folds.ranks[rank] = !this.folds.ranks[rank]));
  }
  setAllFolds(folded: boolean): void {
    this.fold(() => this.folds.setAll(folded));
  }
  focusSearch(): void {
    this.toolbar.focusSearch();
  }
  leaveSearch(): void {
    this.search("");
    this.stage.overlay.focus();
  }
  nextHit(back: boolean): void {
    const hit = nextHit(this.model, this.hits, this.selection, back);
    if (hit >= 0) this.select(hit);
  }
  showHelp(): void {
    this.toolbar.showHelp();
  }

  private build(): void {
    const bar = element("div", "", "bar");
    bar.append(this.toolbar.box, legend(this.model, styleOf));
    const numbers = visibleTable(this.model, () => this.current);
    this.details.setAttribute("aria-live", "polite");
    this.details.setAttribute("aria-label", "Details of the selected span");
    this.root.classList.add("timeline");
    this.root.replaceChildren(bar, this.stage.box, this.details, numbers);
    this.toolbar.showPath(false);
    showDetails(this.details, this.model, -1, () => undefined);
  }

  private listen(): void {
    this.root.addEventListener("pointerenter", () => (this.pointerInside = true));
    this.root.addEventListener("pointerleave", () => (this.pointerInside = false));
    document.addEventListener("keydown", (event) => {
      // While the pointer is over the timeline, keys work even if the timeline does not have the
      // focus.
      const isOurs = this.root.contains(event.target as Node);
      if (isOurs || (this.pointerInside && event.target === document.body)) handleKey(event, this);
    });
    listenToPointer(this.stage.overlay, {
      zoomAt: (factor, x) => this.zoomBy(factor, xToTime(this.current, x, this.stage.width)),
      panPixels: (dx) => this.panBy(dx / this.stage.width),
      scrollBy: (dy) => this.scrollBy(dy),
      hover: (x, y) => this.hover(x, y),
      leave: () => this.hover(-1, -1),
      click: (x, y) => {
        this.stage.overlay.focus({ preventScroll: true });
        this.setSelection(this.spanUnder(x, y));
      },
      doubleClick: (x, y) => {
        if (this.spanUnder(x, y) >= 0) this.fitSelection();
      },
      measure: (x0, x1) => {
        const [start, end] = [x0, x1].map((x) => xToTime(this.current, x, this.stage.width));
        this.mark = { start: Math.min(start, end), end: Math.max(start, end) };
        this.changed();
      },
    });
    new MutationObserver(() => this.stage.themeChanged()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
    if (this.options.hash) window.addEventListener("hashchange", () => this.restore());
  }

  private restore(): void {
    if (!this.options.hash) return;
    const saved = readHash(location.hash);
    if (!saved.view) return;
    this.search(saved.query);
    this.showPath(saved.path);
    this.select(saved.selected);
    this.zoomTo(saved.view.start, saved.view.end);
  }

  private changed(): void {
    this.stage.request();
    if (!this.options.hash) return;
    window.clearTimeout(this.saving);
    // Browsers limit how often a page may change its address. So the view is saved when it has not
    // changed for 200 ms.
    this.saving = window.setTimeout(() => {
      const { current: view, selection: selected, query, path } = this;
      history.replaceState(null, "", writeHash({ view, selected, query, path }));
    }, 200);
  }

  private frame(): void {
    const { selection: selected, hovered, path, mark } = this;
    const highlighted = this.query ? this.hits : path ? this.model.path.spans : null;
    this.stage.paint(this.layout, this.current, { selected, hovered, path, mark }, highlighted);
  }

  private setView(view: View): void {
    this.current = view;
    this.changed();
  }

  private setSelection(span: number): void {
    this.selection = span;
    showDetails(this.details, this.model, span, (other) => this.select(other));
    this.changed();
  }

  private bringIntoView(span: number): void {
    const { start, end } = this.model.spans;
    const size = this.current.end - this.current.start;
    const isSeen = end[span] > this.current.start + size * 0.02 && start[span] < this.current.end - size * 0.02;
    if (!isSeen) this.centre(this.middleOf(span));
    const place = this.layout.placeOf[this.model.spans.row[span]];
    if (place) this.stage.scrollTo(place.y, place.height);
  }

  private centre(time: number): void {
    const half = (this.current.end - this.current.start) / 2;
    this.zoomTo(time - half, time + half);
  }

  private middleOf(span: number): number {
    return (this.model.spans.start[span] + this.model.spans.end[span]) / 2;
  }

  /** The span within one pixel of a point on the canvas; -1 if there is none. */
  private spanUnder(x: number, y: number): number {
    const placed = rowAt(this.layout, y + this.stage.top);
    if (!placed || x < 0) return -1;
    const pixel = (this.current.end - this.current.start) / this.stage.width;
    const time = xToTime(this.current, x, this.stage.width);
    return spanAt(this.model, this.longest, this.model.rows[placed.row], time, pixel);
  }

  private hover(x: number, y: number): void {
    const span = this.spanUnder(x, y);
    this.stage.showTip(span < 0 ? "" : this.tip(span), x, y);
    if (span === this.hovered) return;
    this.hovered = span;
    this.stage.requestOverlay();
  }

  private tip(span: number): string {
    const { start, end, label } = this.model.spans;
    const name = this.model.shortNames[label[span]];
    return `${name} · ${formatTime(end[span] - start[span])} · rank ${rankNumber(this.model, span)}`;
  }

  private fold(change: () => void): void {
    change();
    this.refreshLayout();
  }

  private refreshLayout(): void {
    this.layout = placeRows(this.model, this.folds);
    this.gutter.fill(this.layout);
    this.stage.setHeight(this.layout.height);
    this.changed();
  }
}

export function mountTimeline(
  root: HTMLElement,
  model: TimelineModel,
  options: TimelineOptions = {},
): TimelineHandle {
  return new Timeline(root, model, options);
}

