// A pod as it was after one of its events, beside the present one.
import { useSignal } from "@preact/signals";
import type { Event, GetPodResponse } from "../api/gen";
import { messageOf, perform } from "../api/request";
import { getPodAt, type Named } from "../pure/calls";
import { clock, full } from "../pure/time";
import { changesOf, looksOf } from "../pure/was";
import { toYaml } from "../pure/yaml";
import { ApiButton } from "./commands";
import { Yaml } from "./yaml";

interface Props {
  of: Named;
  events: readonly Event[];
  /** The object as it is now; undefined for a pod that is gone. */
  now?: unknown;
}

export function Was({ of, events, now }: Props) {
  const chosen = useSignal("");
  const answer = useSignal<GetPodResponse | null>(null);
  const refused = useSignal("");
  const looks = looksOf(events);
  if (looks.length === 0) return null;
  const choose = async (at: string) => {
    chosen.value = at;
    answer.value = null;
    refused.value = "";
    if (!at) return;
    try {
      const found = await perform<GetPodResponse>(getPodAt(of, at));
      if (chosen.value === at) answer.value = found;
    } catch (error) {
      if (chosen.value === at) refused.value = messageOf(error);
    }
  };
  const object = answer.value?.pod?.object;
  const changes = object && now !== undefined ? changesOf(object, now) : [];
  const text = (value: unknown) => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value));
  return (
    <section class="was">
      <div class="section-head">
        <h2>As it was</h2>
        <div class="section-tools">
          <ApiButton call={getPodAt(of, chosen.value || looks[0]!.at)} />
          <select aria-label="After which event" value={chosen.value} onChange={(e) => choose(e.currentTarget.value)}>
            <option value="">after…</option>
            {looks.map((look) => (
              <option value={look.at}>
                {clock(look.time)} {look.label}
              </option>
            ))}
          </select>
        </div>
      </div>
      {refused.value && <p class="nothing">{refused.value}</p>}
      {object && (
        <>
          <p class="muted">
            Since {full(answer.value!.since ?? "")}, revision {answer.value!.pod!.revision}
            {now !== undefined && (changes.length > 0 ? ". What is different now:" : ". It is the same now.")}
          </p>
          {changes.length > 0 && (
            <table class="was-changes">
              <thead>
                <tr>
                  <th>Field</th>
                  <th>Then</th>
                  <th>Now</th>
                </tr>
              </thead>
              <tbody>
                {changes.map((c) => (
                  <tr>
                    <td>{c.path}</td>
                    <td>{text(c.was)}</td>
                    <td>{text(c.is)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          <details>
            <summary>All of it</summary>
            <Yaml text={toYaml(object)} />
          </details>
        </>
      )}
    </section>
  );
}
