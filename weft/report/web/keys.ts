// SPDX-License-Identifier: Apache-2.0
// Defines the key bindings of the timeline. W, A, S and D work as in Perfetto and XProf. The help
// dialog shows the list BINDINGS.
import type { Actions } from "./actions";

interface Binding {
  keys: string[];
  help: string;
  run(actions: Actions, event: KeyboardEvent): void;
}

const ZOOM = 0.55;
const PAN = 0.15;
const SCROLL = 60;

/**
 * Left and right arrow keys. If a span is selected, they go to the next or previous span, else they
 * move the view.
 */
function sideways(by: 1 | -1): Binding["run"] {
  return (actions, event) =>
    actions.hasSelection() && !event.shiftKey ? actions.selectBeside(by) : actions.panBy(by * PAN);
}

function across(by: 1 | -1): Binding["run"] {
  return (actions, event) =>
    actions.hasSelection() && !event.shiftKey ? actions.selectAcross(by) : actions.scrollBy(by * SCROLL);
}

export const BINDINGS: Binding[] = [
  { keys: ["w"], help: "zoom in", run: (a) => a.zoomBy(ZOOM) },
  { keys: ["s"], help: "zoom out", run: (a) => a.zoomBy(1 / ZOOM) },
  { keys: ["a"], help: "go left", run: (a) => a.panBy(-PAN) },
  { keys: ["d"], help: "go right", run: (a) => a.panBy(PAN) },
  { keys: ["ArrowLeft"], help: "previous span; go left without a selection or with Shift", run: sideways(-1) },
  { keys: ["ArrowRight"], help: "next span; go right without a selection or with Shift", run: sideways(1) },
  { keys: ["ArrowUp"], help: "row above; scroll without a selection or with Shift", run: across(-1) },
  { keys: ["ArrowDown"], help: "row below; scroll without a selection or with Shift", run: across(1) },
  { keys: ["Enter"], help: "select a span in the middle; zoom to it if one is selected", run: enter },
  { keys: ["f"], help: "zoom to the selection or to the measured interval", run: (a) => a.fitSelection() },
  { keys: ["0", "Home"], help: "show everything", run: (a) => a.fitAll() },
  { keys: ["m"], help: "measure the selection; press again to remove the measurement", run: (a) => a.toggleMark() },
  { keys: ["p"], help: "critical path on or off", run: (a) => a.togglePath() },
  { keys: ["c"], help: "fold or open the rank of the selection", run: (a) => a.toggleRankFold() },
  { keys: ["e"], help: "open all ranks", run: (a) => a.setAllFolds(false) },
  { keys: ["E"], help: "fold all ranks", run: (a) => a.setAllFolds(true) },
  { keys: ["/"], help: "search", run: (a) => a.focusSearch() },
  { keys: ["n"], help: "next hit", run: (a) => a.nextHit(false) },
  { keys: ["N"], help: "previous hit", run: (a) => a.nextHit(true) },
  { keys: ["Escape"], help: "clear selection, measurement and search", run: (a) => a.clear() },
  { keys: ["?"], help: "this list", run: (a) => a.showHelp() },
];

function enter(actions: Actions): void {
  if (actions.hasSelection()) actions.fitSelection();
  else actions.selectAcross(1);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}

/**
 * Runs the binding of a key. Returns false if there is no binding for the key. Keys in input
 * fields, and Enter and Space on buttons, keep their usual effect. A capital letter without a
 * binding has the effect of the small letter.
 */
export function handleKey(event: KeyboardEvent, actions: Actions): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target)) return false;
  const isButton = event.target instanceof HTMLButtonElement;
  if (isButton && (event.key === "Enter" || event.key === " ")) return false;
  const exact = BINDINGS.find(({ keys }) => keys.includes(event.key));
  const binding = exact ?? BINDINGS.find(({ keys }) => keys.includes(event.key.toLowerCase()));
  if (!binding) return false;
  event.preventDefault();
  binding.run(actions, event);
  return true;
}
