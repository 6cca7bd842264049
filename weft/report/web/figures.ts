// SPDX-License-Identifier: Apache-2.0
// Formats numbers for running text, tables and axes. Times are nanoseconds.

/** "79.3", "1,234", "0.412": milliseconds with three significant digits, without a unit. */
export function milliseconds(nanos: number): string {
  const ms = nanos / 1e6;
  const size = Math.abs(ms);
  if (size >= 99.95) return Math.round(ms).toLocaleString("en-US");
  if (size >= 9.995) return ms.toFixed(1);
  if (size >= 0.9995) return ms.toFixed(2);
  return size < 5e-7 ? "0" : ms.toFixed(3);
}

/**
 * Milliseconds with three decimals, for tables. `weft diagnose` and `weft replay` print times in
 * the same form.
 */
export function exactMs(nanos: number): string {
  return (nanos / 1e6).toFixed(3);
}

export function withUnit(nanos: number): string {
  return `${milliseconds(nanos)} ms`;
}

/** "12 %" or "3.4 %". */
export function share(part: number, whole: number): string {
  if (whole <= 0) return "0 %";
  const percent = (100 * part) / whole;
  return `${Math.abs(percent) >= 9.95 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}

/** "+1.23" or "−1.23". */
export function signedMs(nanos: number): string {
  const text = milliseconds(Math.abs(nanos));
  if (text === "0") return "±0";
  return nanos < 0 ? `−${text}` : `+${text}`;
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** "1 rank", "3 ranks". */
export function several(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** "0-3, 7": a list in which consecutive numbers become a range. `numbers` must be ascending. */
export function ranges(numbers: number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < numbers.length; ) {
    let last = i;
    while (last + 1 < numbers.length && numbers[last + 1] === numbers[last] + 1) ++last;
    parts.push(last > i ? `${numbers[i]}-${numbers[last]}` : String(numbers[i]));
    i = last + 1;
  }
  return parts.join(", ");
}

/**
 * Round values from 0 to at most `limit`, for the ticks of an axis. Their number is about `wanted`.
 */
export function ticks(limit: number, wanted: number): number[] {
  if (!(limit > 0)) return [0];
  const rough = limit / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(limit / step + 1e-9) + 1 }, (_, i) => i * step);
}
