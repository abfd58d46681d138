// A page's table as a file.
import { csvOf, type Row } from "../pure/export";
import { node } from "../state/live";
import { save } from "../state/save";
import { Icon } from "./icons";
import { Popover } from "./popover";

/** Export saves the rows that the page shows at that moment. */
export function Export({ name, rows }: { name: string; rows: () => readonly Row[] }) {
  const file = (kind: string) => `${node.value?.name ?? "node"}-${name}.${kind}`;
  const button = (
    <>
      <Icon name="down" /> Export
    </>
  );
  return (
    <Popover button={button} title="What the page lists, as a file" label="Export as" kind="menu">
      <button type="button" class="link-button" onClick={() => save(file("csv"), "text/csv", [csvOf(rows())])}>
        CSV
      </button>
      <button type="button" class="link-button" onClick={() => save(file("json"), "application/json", [JSON.stringify(rows(), null, 2)])}>
        JSON
      </button>
    </Popover>
  );
}
