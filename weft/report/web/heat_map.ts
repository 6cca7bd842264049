// SPDX-License-Identifier: Apache-2.0
// Draws the heat map of lateness. It has one row per rank and one column per collective, in order
// of time. The user chooses a cell with the pointer or the arrow keys. A click or Enter shows the
// collective of the cell in the timeline.
import { el } from "./dom";
import { count, withUnit } from "./figures";
import { formatBytes } from "./format";
import { HeatScale, heatScale } from "./heat_colours";
import type { HeatColumn, HeatMap, Jump } from "./page_data";

const ROW = 18;
const LABELS = 64;
/** Height of the area above the rows, which shows step numbers. */
const HEAD = 18;
const WIDEST_CELL = 22;

interface Cell {
  row: number;
  column: number;
}

/** The text about a cell. The readout below the legend shows this text. */
export function describe(map: HeatMap, { row, column }: Cell): string {
  const { rank, late_by } = map.rows[row];
  const cell = map.columns[column];
  const late = late_by[column];
  const arrival =
    late < 0 ? "takes no part" : late === 0 ? "arrived first" : `${withUnit(late)} late`;
  return `rank ${rank}: ${arrival}. ${describeColumn(cell)}`;
}

export function describeColumn(cell: HeatColumn): string {
  const size = cell.bytes >= 0 ? ` of ${formatBytes(cell.bytes)}` : "";
  const step = cell.step >= 0 ? `, step ${cell.step}` : "";
  const most = cell.count > 1 ? `Worst of ${count(cell.count)} collectives: ` : "";
  return (
    `${most}${cell.kind}${size}${step}; rank ${cell.last_rank} arrived last, ` +
    `${withUnit(cell.last - cell.first)} after the first; transfer took ${withUnit(cell.end - cell.last)}`
  );
}

export class HeatMapView {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas", {
    tabindex: 0,
    role: "application",
    "aria-roledescription": "heat map",
    "aria-label":
      "lateness by rank and collective; arrow keys move, Enter shows the collective in the timeline",
  });
  private readonly readout = el("p", { class: "readout", role: "status" });
  private readonly bar = el("span", { class: "gradient" });
  private readonly largest: number;
  private cell: Cell | null = null;
  private scale: HeatScale | null = null;

  constructor(private readonly map: HeatMap, private readonly jump: Jump) {
    this.largest = map.rows.reduce((most, row) => row.late_by.reduce((a, b) => Math.max(a, b), most), 1);
    this.readout.textContent = "Point at a cell, or use the arrow keys.";
    const key = el(
      "p",
      { class: "heat-key" },
      "on time ",
      this.bar,
      ` ${withUnit(this.largest)} late`,
    );
    this.element = el("div", { class: "heat-map" }, key, this.readout, this.canvas);
    this.canvas.style.height = `${HEAD + map.rows.length * ROW}px`;
    this.canvas.addEventListener("pointermove", (event) => this.point(this.cellAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("click", (event) => this.go(this.cellAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /**
   * Draws everything. It must be called again after a change of theme, because it reads the
   * colours.
   */
  draw(): void {
    const { canvas, map } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    if (width === 0) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round((HEAD + map.rows.length * ROW) * ratio);
    const context = canvas.getContext("2d");
    if (!context) return;
    context.scale(ratio, ratio);
    this.scale = heatScale(canvas, this.largest);
    this.bar.style.background = this.scale.gradient;
    const ink = getComputedStyle(canvas).getPropertyValue("--weft-muted");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    this.drawSteps(context, width, ink);
    context.translate(0, HEAD);
    const cells = Math.min(map.columns.length, Math.floor(this.span(width)));
    map.rows.forEach((row, r) => {
      context.fillStyle = ink;
      context.fillText(`rank ${row.rank}`, LABELS - 8, r * ROW + ROW / 2);
      this.drawRow(context, row.late_by, r, cells, width);
    });
    this.drawCursor(context, width);
  }

  /**
   * Marks the columns in which steps begin. A step number is drawn only if it does not overlap the
   * previous number.
   */
  private drawSteps(context: CanvasRenderingContext2D, width: number, ink: string): void {
    const { columns } = this.map;
    const wide = this.span(width) / columns.length;
    context.fillStyle = ink;
    context.textAlign = "left";
    for (let i = 0, free = 0; i < columns.length; ++i) {
      const { step } = columns[i];
      if (step < 0 || step === columns[i - 1]?.step) continue;
      const x = LABELS + i * wide;
      context.fillRect(x - 1, 0, 1, HEAD - 2);
      if (x < free) continue;
      const text = `step ${step}`;
      context.fillText(text, x + 3, HEAD / 2 - 1);
      free = x + 12 + context.measureText(text).width;
    }
    context.textAlign = "right";
  }

  /**
   * Draws at most one rectangle per pixel of the width. If several columns share a pixel, the pixel
   * shows their largest lateness.
   */
  private drawRow(
    context: CanvasRenderingContext2D,
    late: number[],
    row: number,
    cells: number,
    width: number,
  ): void {
    const scale = this.scale;
    if (!scale) return;
    const wide = this.span(width) / cells;
    const gap = wide > 5 ? 1 : 0;
    for (let i = 0; i < cells; ++i) {
      const from = Math.floor((i * late.length) / cells);
      const to = Math.max(from + 1, Math.floor(((i + 1) * late.length) / cells));
      let worst = -1;
      for (let k = from; k < to; ++k) worst = Math.max(worst, late[k]);
      context.fillStyle = worst < 0 ? scale.none : scale.colour(worst);
      context.fillRect(LABELS + i * wide, row * ROW, wide - gap, ROW - 1);
    }
  }

  private drawCursor(context: CanvasRenderingContext2D, width: number): void {
    if (!this.cell) return;
    const wide = this.span(width) / this.map.columns.length;
    const ink = getComputedStyle(this.canvas).getPropertyValue("--weft-ink");
    const x = LABELS + this.cell.column * wide;
    const box = Math.max(wide, 4);
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.strokeRect(x - (box - wide) / 2, this.cell.row * ROW, box, ROW - 1);
  }

  /**
   * The width of all columns together. They fill the canvas unless cells would then be wider than
   * WIDEST_CELL.
   */
  private span(width: number): number {
    return Math.min(width - LABELS, this.map.columns.length * WIDEST_CELL);
  }

  private cellAt(event: MouseEvent): Cell | null {
    const wide = this.span(this.canvas.clientWidth) / this.map.columns.length;
    const column = Math.floor((event.offsetX - LABELS) / wide);
    const row = Math.floor((event.offsetY - HEAD) / ROW);
    const inside = column >= 0 && column < this.map.columns.length;
    return inside && row >= 0 && row < this.map.rows.length ? { row, column } : null;
  }

  private point(cell: Cell | null): void {
    this.cell = cell;
    if (cell) this.readout.textContent = describe(this.map, cell);
    this.canvas.style.cursor = cell ? "pointer" : "default";
    this.draw();
  }

  private go(cell: Cell | null): void {
    if (!cell) return;
    const { first, end } = this.map.columns[cell.column];
    this.jump(first, end, this.map.rows[cell.row].rank, -1);
  }

  private key(event: KeyboardEvent): void {
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
    };
    const at = this.cell ?? { row: 0, column: 0 };
    if (event.key === "Enter") this.go(this.cell);
    else if (event.key in moves) {
      // The first key press only shows the cursor, in the first cell.
      const [down, right] = this.cell ? moves[event.key] : [0, 0];
      this.point({
        row: Math.min(Math.max(at.row + down, 0), this.map.rows.length - 1),
        column: Math.min(Math.max(at.column + right, 0), this.map.columns.length - 1),
      });
    } else return;
    event.preventDefault();
  }
}
