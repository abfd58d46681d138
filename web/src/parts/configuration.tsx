// How the node follows the files of its configuration: what it took while it ran, and what waits for a restart.
import type { Configuration } from "../api/gen";
import { takenText, valueText } from "../pure/configuration";
import { said } from "../pure/said";
import { full, since } from "../pure/time";
import { now } from "../state/clock";
import { CopyButton } from "./commands";
import { Fact } from "./fact";
import { HealthIcon } from "./icons";

/** RejectedFiles comes first: the node starts no more with such files. */
export function RejectedFiles({ of }: { of: Configuration | undefined }) {
  if (!of?.fault) return null;
  return (
    <section class="alarm" aria-label="Rejected configuration">
      <h2>
        <HealthIcon health="failing" /> The configuration files are rejected
      </h2>
      <p>{said(of.fault)}</p>
      <p class="muted">Read {since(of.readAt, now.value)} ago. The last good configuration is in force, until the node starts again.</p>
    </section>
  );
}

export function ConfigurationSection({ of }: { of: Configuration | undefined }) {
  const files = of?.files ?? [];
  if (!of || files.length === 0) return null;
  const waiting = of.needsRestart ?? [];
  return (
    <section aria-label="Configuration files">
      <h2>Configuration</h2>
      <dl class="facts">
        <Fact name="Files">
          {files.map((file) => (
            <div key={file} class="breakable">
              {file} <CopyButton text={file} label="" />
            </div>
          ))}
        </Fact>
        <Fact name="Read">{of.readAt && full(of.readAt)}</Fact>
        <Fact name="Taken">{takenText(of, now.value)}</Fact>
        {waiting.length > 0 && (
          <Fact name="Needs a restart">
            {waiting.map((w) => (
              <div key={w.name} class="breakable">
                {w.name}: <code>{valueText(w.running)}</code>, then <code>{valueText(w.wanted)}</code>
              </div>
            ))}
          </Fact>
        )}
      </dl>
    </section>
  );
}
