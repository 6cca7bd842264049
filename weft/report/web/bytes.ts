// SPDX-License-Identifier: Apache-2.0
// Decodes the text of the script element that contains the timeline: base64, inside it gzip, inside
// it columns of variable-length integers. docs/design/report.md describes the format.

export function fromBase64(text: string): Uint8Array {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function gunzip(packed: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Reads a column of variable-length integers: 7 bits per byte, low bits first. The top bit of a byte says
 * that more bytes follow.
 */
export class ColumnReader {
  private at: number;

  constructor(private readonly bytes: Uint8Array, offset: number, readonly count: number) {
    this.at = offset;
  }

  /**
   * The next number, which has at most 53 bits. The first three bytes are combined with shifts,
   * which is fast. Further bytes are combined with multiplications, because shifts in JavaScript
   * work on 32 bits only.
   */
  next(): number {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    byte = bytes[this.at++];
    value |= (byte & 0x7f) << 7;
    if (byte < 0x80) return value;
    byte = bytes[this.at++];
    value |= (byte & 0x7f) << 14;
    if (byte < 0x80) return value;
    for (let scale = 2 ** 21; ; scale *= 128) {
      byte = bytes[this.at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  /** The next signed number: 0, 1, 2, 3 ... stand for 0, -1, 1, -2 ... */
  nextSigned(): number {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  all(): number[] {
    return Array.from({ length: this.count }, () => this.next());
  }

  allSigned(): number[] {
    return Array.from({ length: this.count }, () => this.nextSigned());
  }

  /**
   * All numbers of a column that stores the difference between each number and the previous number.
   */
  allDeltas(): Uint32Array {
    const values = new Uint32Array(this.count);
    let value = 0;
    for (let i = 0; i < this.count; ++i) values[i] = value += this.nextSigned();
    return values;
  }
}
