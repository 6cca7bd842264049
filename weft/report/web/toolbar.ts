// SPDX-License-Identifier: Apache-2.0
// Makes the toolbar of the timeline: buttons, search field, legend and the dialog that lists all
// keys.
import type { Actions } from "./actions";
import { element } from "./details";
import { formatCount, readable } from "./format";
import { BINDINGS } from "./keys";
import type { TimelineModel } from "./model";

export interface ToolbarActions extends Actions {
  search(text: string): void;
  leaveSearch(): void;
}

function button(text: string, title: string, run: () => void): HTMLButtonElement {
  const made = element("button", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", run);
  return made;
}

export class Toolbar {
  readonly box = element("div", "", "toolbar");
  private readonly field = element("input");
  private readonly hits = element("output", "", "hits");
  private readonly path: HTMLButtonElement;
  private readonly help: HTMLDialogElement;

  constructor(model: TimelineModel, actions: ToolbarActions) {
    this.field.type = "search";
    this.field.placeholder = "Search names ( / )";
    this.field.setAttribute("aria-label", "Search names of spans");
    this.field.addEventListener("input", () => actions.search(this.field.value));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") actions.nextHit(event.shiftKey);
      if (event.key === "Escape") actions.leaveSearch();
      event.stopPropagation();
    });
    this.path = button("Critical path", "Show the critical path (p)", () => actions.togglePath());
    this.path.disabled = model.path.start.length === 0;
    this.help = helpDialog();
    this.box.append(
      this.field,
      this.hits,
      button("◂", "Previous hit (N)", () => actions.nextHit(true)),
      button("▸", "Next hit (n)", () => actions.nextHit(false)),
      this.path,
      button("Fit", "Show the whole recording (0)", () => actions.fitAll()),
      button("Open all", "Open all ranks and lanes (e)", () => actions.setAllFolds(false)),
      button("Fold all", "Fold all ranks (E)", () => actions.setAllFolds(true)),
      button("Keys", "List all keys (?)", () => actions.showHelp()),
      this.help,
    );
  }

  showHits(query: string, count: number): void {
    if (this.field.value !== query) this.field.value = query;
    this.hits.textContent = query ? `${formatCount(count)} hit${count === 1 ? "" : "s"}` : "";
  }

  showPath(on: boolean): void {
    this.path.setAttribute("aria-pressed", String(on));
  }

  focusSearch(): void {
    this.field.focus();
    this.field.select();
  }

  showHelp(): void {
    this.help.showModal();
  }
}

function helpDialog(): HTMLDialogElement {
  const dialog = element("dialog", "", "help");
  dialog.setAttribute("aria-label", "Keys of the timeline");
  const list = element("dl");
  for (const { keys, help } of BINDINGS) {
    const term = element("dt");
    keys.forEach((key) => term.append(element("kbd", key), " "));
    list.append(term, element("dd", help));
  }
  list.append(element("dt", "drag"), element("dd", "move; with Shift: measure an interval"));
  list.append(element("dt", "Ctrl + wheel"), element("dd", "zoom; Shift + wheel: go left and right"));
  list.append(element("dt", "double click"), element("dd", "zoom to the span"));
  dialog.append(list, button("Close", "Escape", () => dialog.close()));
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  return dialog;
}

/**
 * The legend. It has one entry for each class that some label has, and a note if short spans were
 * merged.
 */
export function legend(model: TimelineModel, styleOf: (name: string) => string): HTMLElement {
  const box = element("ul", "", "legend");
  box.setAttribute("aria-label", "Colours");
  const used = new Set(model.labelClass);
  const names = model.classes.filter((_, i) => used.has(i));
  if (model.collectives.some(({ members }) => members.length > 1)) names.push("waiting");
  for (const name of names) {
    const item = element("li");
    const chip = element("span", "", "chip");
    chip.style.background = `var(--weft-${styleOf(name)})`;
    item.append(chip, readable(name));
    box.append(item);
  }
  const drawn = model.spans.start.length;
  if (drawn < model.recordedSpans) {
    const counts = `${formatCount(drawn)} of ${formatCount(model.recordedSpans)} spans`;
    box.append(element("li", `${counts} drawn: short neighbours are merged`, "thinned"));
  }
  return box;
}
