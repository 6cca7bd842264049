// SPDX-License-Identifier: Apache-2.0
// Makes the section of a recorded pipeline. It shows the recorded schedule and, if Weft found a
// shorter schedule, that schedule too.
import { share } from "./figures";
import { gantt } from "./gantt";
import type { PageData } from "./page_data";
import { Section, section } from "./section";

/** The section; null if the job is not a pipeline. */
export function pipeline(page: PageData): Section | null {
  if (page.schedules.length === 0) return null;
  const [recorded, better] = page.schedules;
  const gain = better
    ? ` Another schedule of the same micro-batches takes ${share(recorded.step - better.step, recorded.step)} less time.`
    : "";
  const lead =
    "One simulated step with the usual op times of each stage, without the time that profiling takes. " +
    `Shaded time is idle.${gain}`;
  return section("pipeline", "Pipeline", lead, ...gantt(page.schedules));
}
