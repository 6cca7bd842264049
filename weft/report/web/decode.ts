// SPDX-License-Identifier: Apache-2.0
// Turns the bytes that weft/report/timeline/pack.cc writes into a TimelineModel.
import { ColumnReader } from "./bytes";
import type { Collective, Lane, Path, Rank, Row, Spans, Step, TimelineModel } from "./model";

interface Header {
  version: number;
  recorded_spans: number;
  classes: string[];
  causes: string[];
  /** Two entries per label: its name, then its class. */
  labels: (string | number)[];
  texts: string[];
  ranks: Rank[];
  lanes: Lane[];
  steps: Step[];
  columns: { name: string; count: number; bytes: number }[];
}

type Columns = Map<string, ColumnReader>;

function column(columns: Columns, name: string): ColumnReader {
  const found = columns.get(name);
  if (!found) throw new Error(`the timeline has no column ${name}`);
  return found;
}

/**
 * The function name in a C++ signature, without return type, template arguments, parameters and
 * namespaces. It is short enough to fit on a span.
 */
export function shortName(name: string): string {
  if (!/[<(]/.test(name) || name.startsWith("autograd::")) return name;
  const plain = name.replace(/^void /, "").replace(/\(anonymous namespace\)::/g, "");
  const head = plain.split(/[<(]/, 1)[0];
  return head.split("::").pop() || plain;
}

/**
 * Reads the rows. The rows of a lane are neighbours, so the depth of a row is its position within
 * its lane.
 */
function readRows(columns: Columns): Row[] {
  const lanes = column(columns, "row.lane").all();
  const counts = column(columns, "row.spans").all();
  const rows: Row[] = [];
  let first = 0;
  lanes.forEach((lane, i) => {
    const depth = i > 0 && lanes[i - 1] === lane ? rows[i - 1].depth + 1 : 0;
    rows.push({ lane, depth, first, last: first + counts[i] });
    first += counts[i];
  });
  return rows;
}

/**
 * Reads the spans. The columns `span.more` and `span.pause` exist only if some spans were merged.
 */
function readSpans(columns: Columns, rows: Row[]): Spans {
  const gaps = column(columns, "span.gap");
  const durations = column(columns, "span.duration");
  const labels = column(columns, "span.label");
  const steps = column(columns, "span.step");
  const more = columns.get("span.more");
  const pauses = columns.get("span.pause");
  const n = gaps.count;
  const spans: Spans = {
    start: new Float64Array(n),
    end: new Float64Array(n),
    label: new Uint32Array(n),
    step: new Int32Array(n),
    count: new Uint32Array(more ? n : 0),
    busyBefore: new Float64Array(n + 1),
    row: new Uint32Array(n),
  };
  let step = 0;
  let busy = 0;
  rows.forEach((row, r) => {
    let end = 0;
    for (let i = row.first; i < row.last; ++i) {
      const start = end + gaps.nextSigned();
      const duration = durations.next();
      end = start + duration;
      spans.start[i] = start;
      spans.end[i] = end;
      spans.label[i] = labels.next();
      spans.step[i] = step += steps.nextSigned();
      spans.row[i] = r;
      if (more) spans.count[i] = 1 + more.next();
      spans.busyBefore[i + 1] = busy += duration - (pauses ? pauses.next() : 0);
    }
  });
  return spans;
}

function readCollectives(columns: Columns, texts: string[]): Collective[] {
  const next = (name: string) => column(columns, `collective.${name}`);
  const [kind, group, bytes, sequence] = ["kind", "group", "bytes", "sequence"].map(next);
  const [arrival, transfer, members] = ["arrival", "transfer", "members"].map(next);
  const memberSpans = column(columns, "member.span").allDeltas();
  const collectives: Collective[] = [];
  let lastArrival = 0;
  let at = 0;
  for (let i = 0; i < kind.count; ++i) {
    lastArrival += arrival.nextSigned();
    const count = members.next();
    collectives.push({
      kind: texts[kind.next()],
      group: texts[group.next()],
      bytes: bytes.nextSigned(),
      sequence: sequence.nextSigned(),
      lastArrival,
      end: lastArrival + transfer.nextSigned(),
      members: Array.from(memberSpans.subarray(at, (at += count))),
    });
  }
  return collectives;
}

function readPath(columns: Columns): Path {
  const gaps = column(columns, "path.gap");
  const durations = column(columns, "path.duration");
  const start = new Float64Array(gaps.count);
  const end = new Float64Array(gaps.count);
  for (let i = 0, at = 0; i < gaps.count; ++i) {
    start[i] = at + gaps.nextSigned();
    end[i] = at = start[i] + durations.next();
  }
  const span = Int32Array.from(column(columns, "path.span").allSigned());
  const spans = Uint32Array.from(new Set(span.filter((id) => id >= 0))).sort();
  const lane = Int32Array.from(column(columns, "path.lane").allSigned());
  const cause = Uint8Array.from(column(columns, "path.cause").all());
  return { span, lane, start, end, cause, spans };
}

/** Throws an Error if the version is unknown or a column is missing. */
export function decodeTimeline(bytes: Uint8Array): TimelineModel {
  const headerSize = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const text = new TextDecoder().decode(bytes.subarray(4, 4 + headerSize));
  const header = JSON.parse(text) as Header;
  if (header.version !== 1) throw new Error(`timeline of version ${header.version}, expected 1`);
  const columns: Columns = new Map();
  let at = 4 + headerSize;
  for (const { name, count, bytes: size } of header.columns) {
    columns.set(name, new ColumnReader(bytes, at, count));
    at += size;
  }
  const rows = readRows(columns);
  const spans = readSpans(columns, rows);
  const full = rows.filter((row) => row.last > row.first);
  const collectives = readCollectives(columns, header.texts);
  const collectiveOf = new Map<number, number>();
  collectives.forEach((item, i) => item.members.forEach((span) => collectiveOf.set(span, i)));
  const names = header.labels.filter((item): item is string => typeof item === "string");
  const classes = header.labels.filter((item): item is number => typeof item === "number");
  return {
    recordedSpans: header.recorded_spans,
    classes: header.classes,
    causes: header.causes,
    names,
    shortNames: names.map(shortName),
    labelClass: Uint8Array.from(classes),
    ranks: header.ranks,
    lanes: header.lanes,
    rows,
    spans,
    steps: header.steps,
    launches: {
      call: column(columns, "launch.call").allDeltas(),
      work: column(columns, "launch.work").allDeltas(),
    },
    collectives,
    collectiveOf,
    path: readPath(columns),
    begin: full.reduce((first, row) => Math.min(first, spans.start[row.first]), 0),
    length: full.reduce((last, row) => Math.max(last, spans.end[row.last - 1]), 0),
  };
}
