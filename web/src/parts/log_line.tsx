// One whole line of a log.
import { ansi, strip } from "../pure/ansi";
import type { Line } from "../pure/ring";
import { bytes, full } from "../pure/time";
import { withQuery } from "../state/route";
import { CopyButton } from "./commands";
import { Icon } from "./icons";

export function LineDetail({ line, sought, onClose }: { line: Line; sought: boolean; onClose: () => void }) {
  const here = withQuery({ at: line.time, since: "", q: "", level: "", around: "" }); // with the lines around it, whether they match or not
  return (
    <aside class="line-detail" aria-label="The whole line">
      <header>
        <span class="mono">{line.time && full(line.time)}</span>
        <span class="grow" />
        {line.time && <CopyButton text={location.origin + here} label="Copy link" />}
        {line.time && sought && <a href={here}>Lines around it</a>}
        <CopyButton text={strip(line.text)} />
        <button type="button" class="quiet only-icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <pre tabIndex={0}>{shown(line.text)}</pre>
      {line.cut > 0 && <p class="hint">{bytes(line.cut)} more are not kept here; the download has the whole line.</p>}
    </aside>
  );
}

/** shown formats JSON, and renders other text with its colours. */
function shown(text: string) {
  const plain = strip(text);
  if (/^\s*[{[]/.test(plain)) {
    try {
      return JSON.stringify(JSON.parse(plain), null, 2);
    } catch {
      // then it only looks like it
    }
  }
  return ansi(text).map((run) => <span class={run.classes}>{run.text}</span>);
}
