// YAML to read: long documents are cut into what is drawn by the browser's own
// means (content-visibility), so a large pod does not make the page slow.
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
