// Downloads of a log.
import type { Pod } from "../api/gen";
import { whole } from "../api/through";
import { readLogs } from "../pure/calls";
import type { LogReader } from "../state/logs";
import { save } from "../state/save";
import { Icon } from "./icons";
import { Popover } from "./popover";

interface DownloadsProps {
  pod: Pod;
  names: string[];
  previous: boolean;
  reader: LogReader;
}

/**
 * Downloads offers whole logs from the node. A file with several containers holds only the lines
 * that the page has.
 */
export function Downloads({ pod, names, previous, reader }: DownloadsProps) {
  const href = (name: string) => whole(readLogs(pod, name, { previous }).path);
  const file = (name: string) => `${pod.name}-${name}${previous ? "-previous" : ""}.log`;
  if (names.length < 2) {
    return (
      <a class="button quiet" download={file(names[0] ?? "")} href={href(names[0] ?? "")} title="The whole log">
        <Icon name="down" /> Download
      </a>
    );
  }
  const button = (
    <>
      <Icon name="down" /> Download
    </>
  );
  return (
    <Popover button={button} label="What to download" kind="menu">
      {names.map((name) => (
        <a download={file(name)} href={href(name)}>
          All of {name}
        </a>
      ))}
      <button type="button" class="link-button" onClick={() => save(file("merged"), "text/plain", merged(reader, names))}>
        What is kept here, merged
      </button>
    </Popover>
  );
}

const merged = (reader: LogReader, names: string[]) => [...reader.ring.since(0)].map((line) => `${line.time} ${names[line.source]} ${line.text}\n`);
