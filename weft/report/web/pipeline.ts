// SPDX-License-Identifier: Apache-2.0
// The schedule of a recorded pipeline, and a better one where there is one.
import { share } from "./figures";
import { gantt } from "./gantt";
import type { PageData } from "./page_data";
import { Section, section } from "./section";

/** Null where the job is no pipeline. */
export function pipeline(page: PageData): Section | null {
  if (page.schedules.length === 0) return null;
  const [recorded, better] = page.schedules;
  const gain = better ? ` Another order of the same micro-batches takes ${share(recorded.step - better.step, recorded.step)} less.` : "";
  const lead = `Usual times of each stage, without profiler, in one simulated step; what is shaded waits.${gain}`;
  return section("pipeline", "Pipeline", lead, ...gantt(page.schedules));
}
