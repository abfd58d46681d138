// One line of a log as a row of the list.
import { ansi } from "../pure/ansi";
import { levelOf } from "../pure/level";
import type { Line } from "../pure/ring";
import { shownChars } from "../pure/rows";
import type { Seek } from "../pure/seek";
import { bytes, clock, full } from "../pure/time";

/** sourceClass returns the colour of one of several containers; there are six. */
export const sourceClass = (source: number) => `s${source % 6}`;

interface Props {
  line: Line;
  name: string;
  seek: Seek;
  /** The line stands beside a match. */
  beside: boolean;
  target: boolean;
  cursor: boolean;
  opened: { value: Line | null };
}

/** rowId returns the element ID of a line. */
export const rowId = (line: number) => `line-${line}`;

export function LogRow({ line, name, seek, beside, target, cursor, opened }: Props) {
  const long = line.text.length > shownChars;
  const runs = ansi(long ? line.text.slice(0, shownChars) : line.text);
  const level = levelOf(runs.map((run) => run.text).join(""));
  return (
    <div
      id={rowId(line.id)}
      role="option"
      aria-selected={cursor}
      class={`log-row${level && ` l-${level}`}${beside ? " beside" : ""}${target ? " target" : ""}${cursor ? " cursor" : ""}`}
      onClick={() => !getSelection()?.toString() && (opened.value = line)}
    >
      <time title={line.time && full(line.time)}>{line.time && clock(line.time)}</time>
      {name && <span class={`log-source ${sourceClass(line.source)}`}>{name}</span>}
      <span class="log-text">
        {runs.map((run) => (
          <span class={run.classes}>{marked(run.text, seek)}</span>
        ))}
        {long && <span class="log-more"> … {bytes(line.text.length + line.cut - shownChars)} more</span>}
      </span>
    </div>
  );
}

const marked = (text: string, seek: Seek) => seek.cut(text).map((piece, i) => (i % 2 ? <mark>{piece}</mark> : piece));
