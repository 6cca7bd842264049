// SPDX-License-Identifier: Apache-2.0
// Finds the spans that are connected with a span by a launch or by a collective.
import type { Collective, TimelineModel } from "./model";
import { lowerBound } from "./paint";

/** The call that launched the span; -1 if none is known. */
export function callOf(model: TimelineModel, span: number): number {
  const { call, work } = model.launches;
  const at = lowerBound(work, span);
  return work[at] === span ? call[at] : -1;
}

/**
 * The device work that the span launched. Takes time linear in the number of all launches, but is
 * called only once per selection.
 */
export function workOf(model: TimelineModel, span: number): number[] {
  const { call, work } = model.launches;
  const found: number[] = [];
  for (let i = 0; i < call.length; ++i) if (call[i] === span) found.push(work[i]);
  return found;
}

export function collectiveOf(model: TimelineModel, span: number): Collective | undefined {
  const index = model.collectiveOf.get(span);
  return index === undefined ? undefined : model.collectives[index];
}

/** Pairs of spans that arrows connect: launches, and the members of a collective. */
export function arrowsOf(model: TimelineModel, span: number): [number, number][] {
  const arrows: [number, number][] = workOf(model, span).map((work) => [span, work]);
  const call = callOf(model, span);
  if (call >= 0) arrows.push([call, span]);
  const members = collectiveOf(model, span)?.members ?? [];
  for (const member of members) if (member !== span) arrows.push([span, member]);
  return arrows;
}
