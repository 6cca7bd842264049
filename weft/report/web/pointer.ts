// SPDX-License-Identifier: Apache-2.0
// Handles mouse, pen and touch on the canvas. A drag moves the view, a click selects a span, a drag
// with Shift measures a time, the wheel scrolls, and the wheel with Ctrl zooms. Coordinates are CSS
// pixels on the canvas.

export interface PointerActions {
  zoomAt(factor: number, x: number): void;
  panPixels(dx: number): void;
  scrollBy(dy: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  doubleClick(x: number, y: number): void;
  /** Measures from x0 to x1, while Shift is held. */
  measure(x0: number, x1: number): void;
}

/**
 * If the pointer moves by fewer pixels than this between press and release, it counts as a click.
 */
const DRAG = 4;
/** One pixel of the wheel zooms by the factor exp(WHEEL). */
const WHEEL = 0.002;
/** Pixels per line, for browsers that report wheel movements in lines. */
const LINE = 16;

export function listenToPointer(canvas: HTMLElement, actions: PointerActions): void {
  let from: { x: number; y: number; lastX: number; lastY: number } | null = null;
  let dragged = false;
  const place = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const { x, y } = place(event);
    from = { x, y, lastX: x, lastY: y };
    dragged = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const { x, y } = place(event);
    if (!from) {
      actions.hover(x, y);
      return;
    }
    dragged = dragged || Math.hypot(x - from.x, y - from.y) >= DRAG;
    if (!dragged) return;
    if (event.shiftKey) {
      actions.measure(from.x, x);
    } else {
      actions.panPixels(from.lastX - x);
      actions.scrollBy(from.lastY - y);
    }
    from.lastX = x;
    from.lastY = y;
  });
  const stop = (event: PointerEvent): void => {
    const { x, y } = place(event);
    if (from && !dragged && event.type === "pointerup") actions.click(x, y);
    from = null;
  };
  canvas.addEventListener("pointerup", stop);
  canvas.addEventListener("pointercancel", stop);
  canvas.addEventListener("pointerleave", () => actions.leave());
  canvas.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    actions.doubleClick(x, y);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        actions.zoomAt(Math.exp(event.deltaY * unit * WHEEL), place(event).x);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        actions.panPixels((event.deltaX || event.deltaY) * unit);
      }
    },
    { passive: false },
  );
}
