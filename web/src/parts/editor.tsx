// The editor for manifests. It is large, so only its page loads it.
import { autocompletion, type CompletionContext, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { isMap, isPair, isScalar, type Document, type Node } from "yaml";
import type { ApiError } from "../api/request";
import { type Known, offersAt } from "../pure/complete";
import { documents, faultIn } from "../pure/documents";
import { placeOf } from "../pure/manifest";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--starting)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)" },
]);

// The editor lives in a shadow root. There it uses style sheets made by script; elsewhere it would
// use style elements, which the page's policy forbids.
const look = EditorView.theme({
  "&": { height: "100%", font: '13px/20px "Plex Mono", ui-monospace, monospace', color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { font: "inherit" },
  ".cm-content": { caretColor: "var(--text)", padding: "10px 0" },
  ".cm-gutters": { background: "var(--raised)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 10px 0 6px" },
  ".cm-activeLine, .cm-activeLineGutter": { background: "color-mix(in srgb, var(--sunken) 60%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-soft) !important" },
  ".cm-tooltip": { background: "var(--raised)", border: "1px solid var(--line-strong)", borderRadius: "6px", color: "var(--text)", overflow: "hidden", maxWidth: "420px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent-soft)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--failing)", fontStyle: "normal" },
  ".cm-completionInfo, .cm-explained": { padding: "6px 10px", font: '12.5px/1.5 "Plex Sans", system-ui, sans-serif' },
  // The library's own pictures are data: URLs, which the policy forbids too.
  ".cm-lint-marker": { width: "1em", height: "1em" },
  ".cm-lint-marker-error": { content: "normal", borderRadius: "50%", background: "var(--failed)", width: "8px", height: "8px", margin: "6px auto" },
  ".cm-diagnostic": { borderLeft: "3px solid var(--failed)", padding: "4px 10px", font: '12.5px/1.5 "Plex Sans", system-ui, sans-serif' },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--failed) 1px", textUnderlineOffset: "3px" },
});

interface Props {
  text: string;
  /** turn changes when text comes from outside the editor: typed text may be newer than the text that comes back. */
  turn: number;
  onText: (text: string) => void;
  onSubmit: () => void;
  known: Known;
  violations: ApiError["violations"];
}

export function Editor({ text, turn, onText, onSubmit, known, violations }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef({ onText, onSubmit, known });
  latest.current = { onText, onSubmit, known };
  useEffect(() => {
    const state = EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        EditorView.lineWrapping,
        lintGutter(),
        yaml(),
        indentUnit.of("  "),
        syntaxHighlighting(colours),
        look,
        autocompletion({ icons: false, override: [(context) => complete(context, latest.current.known)] }),
        hoverTooltip((at, pos) => explain(at.state, pos, latest.current.known)),
        keymap.of([
          { key: "Mod-Enter", run: () => (latest.current.onSubmit(), true) },
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap,
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({ "aria-label": "Manifest", tabindex: "0" }),
        EditorView.updateListener.of((update) => update.docChanged && latest.current.onText(update.state.doc.toString())),
      ],
    });
    const root = box.current!.shadowRoot ?? box.current!.attachShadow({ mode: "open" });
    const made = new EditorView({ state, parent: root, root });
    view.current = made;
    made.focus();
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const v = view.current;
    if (v && v.state.doc.toString() !== text) v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: text } });
  }, [turn]);
  useEffect(() => {
    const v = view.current;
    if (v) v.dispatch(setDiagnostics(v.state, diagnose(v.state.doc.toString(), violations)));
  }, [violations]);
  return <div class="editor" ref={box} />;
}

/** diagnose finds the places of the node's violations in the text. */
function diagnose(text: string, violations: ApiError["violations"]): Diagnostic[] {
  const all = documents(text);
  return violations.flatMap((violation) => {
    const { document, path } = placeOf(violation.field);
    const doc = all[document];
    if (!doc) return [];
    const [from, to] = faultIn(doc) ?? rangeOf(doc, path);
    return [{ from: Math.min(from, text.length), to: Math.min(Math.max(to, from + 1), text.length), severity: "error" as const, message: [path.join("."), violation.description].filter(Boolean).join(": ") }];
  });
}

/** rangeOf returns the range of a field, or of its nearest existing parent. */
function rangeOf(doc: Document.Parsed, path: ReadonlyArray<string | number>): [number, number] {
  for (let length = path.length; length > 0; length--) {
    const parent = doc.getIn(path.slice(0, length - 1), true) as Node | undefined;
    const key = path[length - 1]!;
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(key));
      const name = pair?.key as Node | undefined;
      const value = pair?.value as Node | undefined;
      if (name?.range) return [name.range[0], isScalar(value) && value.range ? value.range[1] : name.range[1]];
    }
    const node = doc.getIn(path.slice(0, length), true) as Node | undefined;
    if (node?.range) return [node.range[0], node.range[1]];
  }
  const start = doc.contents?.range?.[0] ?? 0;
  return [start, start + 1];
}

/** explain says what the field under the pointer is for. */
function explain(state: EditorState, pos: number, known: Known) {
  const line = state.doc.lineAt(pos);
  const [whole, head = "", key = ""] = /^(\s*(?:- )*)([\w./-]+):/.exec(line.text) ?? [];
  if (!whole || pos < line.from + head.length || pos > line.from + whole.length) return null;
  const above = state.doc.sliceString(0, line.from).split("\n").slice(0, -1);
  const offer = offersAt([...above, head], state.doc.sliceString(line.to).split("\n").slice(1), known).find(({ label }) => label === key);
  const words = [offer?.info, offer?.detail].filter(Boolean).join(" · ");
  if (!words) return null;
  const dom = document.createElement("div");
  dom.className = "cm-explained";
  dom.textContent = words;
  return { pos: line.from + head.length, end: line.from + whole.length, above: true, create: () => ({ dom }) };
}

/** complete offers completions at the cursor. */
function complete({ state, pos, explicit }: CompletionContext, known: Known) {
  const line = state.doc.lineAt(pos);
  const lines = (from: number, to: number) => state.doc.sliceString(from, to).split("\n");
  const word = /[\w./-]*$/.exec(line.text.slice(0, pos - line.from))![0];
  const isValue = /: +$/.test(line.text.slice(0, pos - line.from - word.length));
  if (!word && !isValue && !explicit) return null;
  const offers = offersAt(lines(0, pos), lines(line.to, state.doc.length).slice(1), known);
  const options = offers.map(({ label, apply, detail, info }) => ({ label, apply, detail, type: "property", boost: detail ? -10 : 0, ...(info && { info }) }));
  return options.length ? { from: pos - word.length, options, validFor: /^[\w./-]*$/ } : null;
}
