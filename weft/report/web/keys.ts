// SPDX-License-Identifier: Apache-2.0
// The keyboard. Letters as in Perfetto and XProf.
import type { Actions } from "./actions";

interface Binding {
  keys: string[];
  help: string;
  run(actions: Actions, event: KeyboardEvent): void;
}

const ZOOM = 0.55;
const PAN = 0.15;
const SCROLL = 60;

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
  { keys: ["ArrowLeft"], help: "span before, or go left (Shift: always)", run: sideways(-1) },
  { keys: ["ArrowRight"], help: "span after, or go right (Shift: always)", run: sideways(1) },
  { keys: ["ArrowUp"], help: "row above, or scroll (Shift: always)", run: across(-1) },
  { keys: ["ArrowDown"], help: "row below, or scroll (Shift: always)", run: across(1) },
  { keys: ["Enter"], help: "select what is in the middle; on a selection: fit it", run: enter },
  { keys: ["f"], help: "fit the selection or the measured stretch", run: (a) => a.fitSelection() },
  { keys: ["0", "Home"], help: "fit everything", run: (a) => a.fitAll() },
  { keys: ["m"], help: "measure the selection; again: forget it", run: (a) => a.toggleMark() },
  { keys: ["p"], help: "critical path on or off", run: (a) => a.togglePath() },
  { keys: ["c"], help: "fold or open the rank of the selection", run: (a) => a.toggleRankFold() },
  { keys: ["e"], help: "open all ranks", run: (a) => a.setAllFolds(false) },
  { keys: ["E"], help: "fold all ranks", run: (a) => a.setAllFolds(true) },
  { keys: ["/"], help: "search", run: (a) => a.focusSearch() },
  { keys: ["n"], help: "next hit", run: (a) => a.nextHit(false) },
  { keys: ["N"], help: "hit before", run: (a) => a.nextHit(true) },
  { keys: ["Escape"], help: "forget selection, measurement and search", run: (a) => a.clear() },
  { keys: ["?"], help: "this list", run: (a) => a.showHelp() },
];

function enter(actions: Actions): void {
  if (actions.hasSelection()) actions.fitSelection();
  else actions.selectAcross(1);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
}

/** True where the key meant something. Keys of fields and buttons are theirs. */
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
