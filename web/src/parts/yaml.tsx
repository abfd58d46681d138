// YAML to read. The browser draws only the visible parts of long documents (content-visibility), so
// a large pod does not slow the page down.
import { pieces } from "../pure/yaml";

export function Yaml({ text }: { text: string }) {
  return (
    <pre class="yaml" tabIndex={0}>
      {text.trimEnd().split("\n").map((line) => (
        <span class="yaml-line">
          {pieces(line).map((piece) => (
            <span class={`y-${piece.kind}`}>{piece.text}</span>
          ))}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
