// SPDX-License-Identifier: Apache-2.0
// Shows the names of ranks and lanes to the left of the rows. If a rank or lane can be folded, its
// name is a button. Only one of these buttons is in the tab order, so that Tab does not stop at
// every rank. The arrow keys move from button to button.
import { element } from "./details";
import type { Layout } from "./layout";
import type { TimelineModel } from "./model";

export interface GutterActions {
  toggleRank(rank: number): void;
  toggleLane(lane: number): void;
}

function rankNote(model: TimelineModel, rank: number): string {
  const { like, place } = model.ranks[rank];
  if (like !== rank) return `like rank ${model.ranks[like].rank}`;
  const similar = model.ranks.filter((other) => other.like === rank).length - 1;
  if (similar > 0) return `+${similar} similar`;
  return place;
}

function foldButton(name: string, open: boolean, toggle: () => void): HTMLButtonElement {
  const button = element("button", "", "fold");
  button.type = "button";
  button.tabIndex = -1;
  button.setAttribute("aria-expanded", String(open));
  button.append(element("span", open ? "▾" : "▸", "arrow"), name);
  button.addEventListener("click", toggle);
  return button;
}

export class Gutter {
  private focusedName = "";

  constructor(
    private readonly box: HTMLElement,
    private readonly model: TimelineModel,
    private readonly actions: GutterActions,
  ) {
    box.addEventListener("keydown", (event) => this.move(event));
    box.addEventListener("focusin", (event) => {
      this.focusedName = (event.target as HTMLElement).dataset.name ?? "";
    });
  }

  /**
   * Replaces all names. If a button had the focus, the new button with the same name gets the
   * focus.
   */
  fill(layout: Layout): void {
    const hadFocus = this.box.contains(document.activeElement);
    const items: HTMLElement[] = [];
    const place = (item: HTMLElement, name: string, y: number, height: number): void => {
      item.style.top = `${y}px`;
      item.style.height = `${height}px`;
      item.dataset.name = name;
      items.push(item);
    };
    for (const { rank, y, height, open } of layout.ranks) {
      const toggle = (): void => this.actions.toggleRank(rank);
      const button = foldButton(`rank ${this.model.ranks[rank].rank}`, open, toggle);
      button.classList.add("rank");
      const note = rankNote(this.model, rank);
      if (note) button.append(element("span", note, "note"));
      place(button, `rank ${rank}`, y, height);
    }
    for (const { lane, y, height, open, canFold } of layout.lanes) {
      const name = this.model.lanes[lane].name;
      const toggle = (): void => this.actions.toggleLane(lane);
      const item = canFold ? foldButton(name, open, toggle) : element("div", name);
      item.classList.add("lane");
      item.title = name;
      place(item, `lane ${lane}`, y, Math.min(height, 18));
    }
    // The Tab and arrow keys follow the order of the elements, so this order must be the order on
    // the screen.
    items.sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top));
    this.box.replaceChildren(...items);
    const buttons = this.buttons();
    const current = buttons.find((item) => item.dataset.name === this.focusedName) ?? buttons[0];
    if (current) current.tabIndex = 0;
    if (hadFocus) current?.focus({ preventScroll: true });
  }

  private buttons(): HTMLElement[] {
    return [...this.box.querySelectorAll<HTMLElement>("button")];
  }

  private move(event: KeyboardEvent): void {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0) return;
    const buttons = this.buttons();
    const at = buttons.findIndex((item) => item === document.activeElement);
    const next = buttons[at + by];
    event.preventDefault();
    event.stopPropagation();
    if (!next) return;
    buttons[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}
