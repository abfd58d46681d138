// Terminals in containers. Each runs on while the user visits other pages.
import { signal } from "@preact/signals";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { endingOf, type ExecStatus } from "../pure/exec_end";
import { Feed } from "../pure/feed";
import { onLeaving } from "./session";

export interface Target {
  namespace: string;
  name: string;
  uid: string;
  container: string;
  /** Empty: attach to the container's main process. */
  command: string[];
  stdin: boolean;
  tty: boolean;
  /** The shell has written its prompt already: an empty line brings another. */
  wakes?: boolean;
}

// The channels of v5.channel.k8s.io; the first byte of each message names one.
const stdin = 0;
const stdout = 1;
const stderr = 2;
const status = 3;
const resize = 4;

let count = 0;

export class Session {
  readonly id = ++count;
  readonly element = document.createElement("div");
  readonly state = signal<"opening" | "open" | "ended">("opening");
  readonly end = signal("");
  private readonly terminal: Terminal;
  private readonly feed = new Feed((data, done) => this.terminal.write(data, done));
  private readonly fit = new FitAddon();
  private readonly socket: WebSocket;
  private readonly watcher = new ResizeObserver(() => this.fitNow());

  constructor(readonly target: Target) {
    this.element.className = "terminal-screen";
    this.terminal = new Terminal({
      fontFamily: '"Plex Mono", ui-monospace, monospace',
      fontSize: 13,
      scrollback: 10_000,
      cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      documentOverride: styled(document),
      disableStdin: !target.stdin,
      convertEol: !target.tty, // without a tty, line ends are not converted
      screenReaderMode: true,
    });
    this.terminal.loadAddon(this.fit);
    this.terminal.open(this.element);
    this.colour();
    this.socket = new WebSocket(addressOf(target), ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.state.value = "open";
      this.sendSize();
      if (target.wakes) this.send(stdin, new TextEncoder().encode("\n"));
    };
    this.socket.onmessage = (message: MessageEvent<ArrayBuffer>) => this.take(new Uint8Array(message.data));
    this.socket.onclose = () => this.finish(this.state.value === "opening" ? refused(target) : "The connection has ended.");
    this.terminal.onData((text) => this.send(stdin, new TextEncoder().encode(text)));
    this.terminal.onBinary((text) => this.send(stdin, Uint8Array.from(text, (c) => c.charCodeAt(0))));
    this.terminal.onResize(() => this.sendSize());
    this.watcher.observe(this.element);
  }

  /** show puts the terminal into the page, where it takes all the room. */
  show(box: HTMLElement): void {
    box.replaceChildren(this.element);
    this.fitNow();
    this.terminal.focus();
  }

  colour(): void {
    const style = getComputedStyle(document.documentElement);
    const of = (name: string) => style.getPropertyValue(name).trim();
    const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    const bright = (name: string) => `bright${name[0]!.toUpperCase()}${name.slice(1)}`;
    this.terminal.options.theme = {
      background: of("--raised"),
      foreground: of("--text"),
      cursor: of("--accent"),
      cursorAccent: of("--raised"),
      selectionBackground: of("--accent-soft"),
      ...Object.fromEntries(names.flatMap((name, i) => [[name, of(`--f${i}`)], [bright(name), of(`--f${i + 8}`)]])),
    };
  }

  close(): void {
    this.watcher.disconnect();
    this.socket.close();
    this.feed.end();
    this.terminal.dispose();
    this.element.remove();
  }

  private fitNow(): void {
    if (this.element.isConnected && this.element.clientWidth > 0) this.fit.fit();
  }

  private take(message: Uint8Array): void {
    const data = message.subarray(1);
    if (message[0] === stdout || message[0] === stderr) this.feed.push(data);
    else if (message[0] === status) this.finish(endingOf(JSON.parse(new TextDecoder().decode(data)) as ExecStatus, this.target.command));
  }

  private finish(words: string): void {
    if (this.state.value === "ended") return;
    this.state.value = "ended";
    this.end.value = words;
    this.terminal.options.cursorBlink = false;
    this.terminal.options.disableStdin = true;
    this.socket.close();
  }

  private send(channel: number, data: Uint8Array): void {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    const message = new Uint8Array(data.length + 1);
    message[0] = channel;
    message.set(data, 1);
    this.socket.send(message);
  }

  private sendSize(): void {
    const size = { Width: this.terminal.cols, Height: this.terminal.rows };
    this.send(resize, new TextEncoder().encode(JSON.stringify(size)));
  }
}

export const sessions = signal<readonly Session[]>([]);
onLeaving(() => sessions.value.forEach(closeTerminal));

export function openTerminal(target: Target): Session {
  const session = new Session(target);
  sessions.value = [...sessions.value, session];
  return session;
}

export function closeTerminal(session: Session): void {
  session.close();
  sessions.value = sessions.value.filter((s) => s !== session);
}

const refused = (target: Target) =>
  target.command.length ? "The node did not open the terminal: the container is not running, or has no such program." : "The node did not attach to the container: it may not be running.";

function addressOf(target: Target): string {
  const query = new URLSearchParams({ output: "1", ...(target.stdin && { input: "1" }), ...(target.tty ? { tty: "1" } : { error: "1" }) });
  for (const word of target.command) query.append("command", word);
  const verb = target.command.length ? "exec" : "attach";
  const path = [target.namespace, target.name, target.uid, target.container].map(encodeURIComponent).join("/");
  return `${location.origin.replace(/^http/, "ws")}/${verb}/${path}?${query}`;
}

/**
 * styled returns a document for xterm.js, which writes its colours into style elements. The page's
 * policy forbids those, so the text goes into a style sheet made by script.
 */
function styled(real: Document): Document {
  const create = (name: string, options?: ElementCreationOptions) => {
    if (name !== "style") return real.createElement(name, options);
    const sheet = new CSSStyleSheet();
    real.adoptedStyleSheets = [...real.adoptedStyleSheets, sheet];
    const stand = real.createElement("span");
    stand.hidden = true;
    Object.defineProperty(stand, "textContent", { set: (text: string) => sheet.replaceSync(text) });
    stand.remove = () => {
      real.adoptedStyleSheets = real.adoptedStyleSheets.filter((s) => s !== sheet);
      Element.prototype.remove.call(stand);
    };
    return stand;
  };
  return new Proxy(real, {
    get(target, key) {
      if (key === "createElement") return create;
      const value = Reflect.get(target, key, target) as unknown;
      return typeof value === "function" ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
}
