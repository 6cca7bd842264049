// SPDX-License-Identifier: Apache-2.0
// Manages the canvases of the timeline and their container: sets their sizes, scrolls, and paints
// at most once per frame.
import { element } from "./details";
import { paintLabels } from "./labels";
import type { Layout } from "./layout";
import { Minimap, MINIMAP_HEIGHT } from "./minimap";
import type { TimelineModel } from "./model";
import { Overlay, OverlayState } from "./overlay";
import { RowPainter } from "./paint";
import { Palette, readPalette } from "./palette";
import type { LongestIndex } from "./row_search";
import { paintRuler, RULER_HEIGHT } from "./ruler";
import type { View } from "./view";

function context2d(canvas: HTMLCanvasElement, opaque: boolean): CanvasRenderingContext2D {
  const context = canvas.getContext("2d", { alpha: !opaque });
  if (!context) throw new Error("this browser has no canvas");
  return context;
}

export class Stage {
  readonly box = element("div", "", "stage-box");
  readonly scroller = element("div", "", "scroller");
  readonly gutter = element("div", "", "gutter");
  readonly overlay = element("canvas", "", "overlay");
  readonly drawn: Promise<void>;
  width = 1;
  private height = 1;
  private readonly content = element("div", "", "content");
  private readonly stage = element("div", "", "stage");
  private readonly spans = element("canvas", "", "spans");
  private readonly ruler = element("canvas", "", "ruler");
  private readonly tip = element("div", "", "tip");
  private readonly minimap: Minimap;
  private readonly painter: RowPainter;
  private readonly overlayPainter: Overlay;
  private readonly contexts: { spans: CanvasRenderingContext2D; ruler: CanvasRenderingContext2D };
  private palette: Palette | null = null;
  private spansDue = true;
  private pending = false;
  private settle: () => void = () => undefined;

  constructor(
    private readonly model: TimelineModel,
    longest: LongestIndex,
    private readonly onFrame: () => void,
    goTo: (time: number) => void,
  ) {
    this.minimap = new Minimap(model, goTo);
    this.drawn = new Promise((resolve) => (this.settle = resolve));
    this.overlay.tabIndex = 0;
    this.overlay.setAttribute("role", "application");
    this.overlay.setAttribute(
      "aria-label",
      "Timeline of all ranks. Arrow keys walk from span to span, W A S D zoom and move, " +
        "question mark lists all keys. The table below has the same data as text.",
    );
    this.spans.setAttribute("aria-hidden", "true");
    this.ruler.setAttribute("aria-hidden", "true");
    this.tip.setAttribute("aria-hidden", "true");
    this.tip.hidden = true;
    this.stage.append(this.spans, this.overlay, this.tip);
    this.content.append(this.stage, this.gutter);
    this.scroller.append(this.content);
    this.box.append(this.minimap.canvas, this.ruler, this.scroller);
    this.contexts = { spans: context2d(this.spans, true), ruler: context2d(this.ruler, false) };
    this.painter = new RowPainter(model, longest);
    this.overlayPainter = new Overlay(model, context2d(this.overlay, false));
    this.scroller.addEventListener("scroll", () => this.request());
    new ResizeObserver(() => this.resize()).observe(this.scroller);
  }

  /** The y coordinate of the first visible pixel of the rows. */
  get top(): number {
    return this.scroller.scrollTop;
  }

  setHeight(height: number): void {
    this.content.style.height = `${height}px`;
    this.resize();
  }

  scrollTo(y: number, height: number): void {
    if (y < this.top) this.scroller.scrollTop = y - 8;
    if (y + height > this.top + this.height) this.scroller.scrollTop = y + height + 8 - this.height;
  }

  themeChanged(): void {
    this.palette = null;
    this.request();
  }

  /** Requests a frame in which everything is painted. */
  request(): void {
    this.spansDue = true;
    this.requestOverlay();
  }

  /**
   * Requests a frame in which only the overlay is painted, unless request() asked for the spans
   * too.
   */
  requestOverlay(): void {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.onFrame();
    });
  }

  /**
   * Paints the overlay and, if they were requested, the spans. RowPainter.paint() describes
   * `highlighted`.
   */
  paint(layout: Layout, view: View, state: OverlayState, highlighted: Uint32Array | null): void {
    if (this.stage.clientWidth === 0) return;
    const palette = (this.palette ??= readPalette(this.box, this.model));
    const { top, width, height } = this;
    const scene = { layout, view, top, width, height, ratio: this.spans.width / width, palette };
    if (this.spansDue) {
      const { spans, ruler } = this.contexts;
      const wide = this.painter.paint(spans, scene, highlighted);
      paintLabels(spans, this.model, wide, scene, highlighted);
      paintRuler(ruler, this.model, scene);
      this.minimap.paint(scene);
      this.spansDue = false;
    }
    this.overlayPainter.paint(scene, state);
    this.settle();
  }

  showTip(text: string, x: number, y: number): void {
    this.tip.hidden = text === "";
    this.tip.textContent = text;
    this.tip.style.transform = `translate(${Math.min(x + 12, this.width - 260)}px, ${y + 16}px)`;
  }

  private resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.height = this.scroller.clientHeight;
    this.stage.style.height = `${this.height}px`;
    this.width = Math.max(1, this.stage.clientWidth);
    for (const [canvas, height] of [
      [this.spans, this.height],
      [this.overlay, this.height],
      [this.ruler, RULER_HEIGHT],
      [this.minimap.canvas, MINIMAP_HEIGHT],
    ] as const) {
      canvas.width = Math.max(1, Math.round(this.width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${height}px`;
    }
    // The canvas of the spans is painted in device pixels. The other canvases are scaled, so that
    // they can be painted in CSS pixels.
    for (const canvas of [this.overlay, this.ruler, this.minimap.canvas]) {
      canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.request();
  }
}
