// SPDX-License-Identifier: Apache-2.0
// Formats numbers with units for the timeline. Times are nanoseconds.

/** A duration with a unit that suits its size: "12.35 ms", "3.20 us", "870 ns". */
export function formatTime(nanos: number): string {
  const size = Math.abs(nanos);
  if (size >= 1e9) return `${(nanos / 1e9).toFixed(3)} s`;
  if (size >= 1e6) return `${(nanos / 1e6).toFixed(size >= 1e8 ? 1 : size >= 1e7 ? 2 : 3)} ms`;
  if (size >= 1e3) return `${(nanos / 1e3).toFixed(size >= 1e5 ? 1 : 2)} us`;
  return `${Math.round(nanos)} ns`;
}

/**
 * A point in time in ms, with enough decimals to distinguish points that are `resolution` ns apart.
 * If the resolution is 1 s or more, the result is in whole seconds.
 */
export function formatPoint(nanos: number, resolution: number): string {
  if (resolution >= 1e9) return `${(nanos / 1e9).toFixed(0)} s`;
  const decimals = Math.max(0, Math.min(6, Math.ceil(6 - Math.log10(Math.max(1, resolution)))));
  return `${(nanos / 1e6).toFixed(decimals)} ms`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 0) return "unknown";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (bytes >= 1000 && unit + 1 < units.length) {
    bytes /= 1000;
    ++unit;
  }
  return `${unit === 0 ? bytes : bytes.toFixed(1)} ${units[unit]}`;
}

export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** A name with blanks instead of underscores: "exposed transfer" for "exposed_transfer". */
export function readable(name: string): string {
  return name.replace(/_/g, " ");
}
