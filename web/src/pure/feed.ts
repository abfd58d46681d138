// A program's output, for a terminal that may be slower.

export interface Bounds {
  under: number; // bytes handed to the terminal at once
  kept: number; // bytes that may wait after those
}

// A terminal that receives 50 MB at once throws, and long before that Ctrl-C seems to have no
// effect.
const bounds: Bounds = { under: 128 << 10, kept: 1 << 20 };

type Write = (data: Uint8Array, done: () => void) => void;

/**
 * Feed gives a terminal as much as it can take. A WebSocket has no back-pressure, so Feed drops the
 * oldest output when too much comes, and says so in its place.
 */
export class Feed {
  private waiting: Uint8Array[] = [];
  private size = 0;
  private under = 0;
  private left = 0; // bytes dropped and not announced yet

  constructor(
    private readonly write: Write,
    private readonly bound = bounds,
  ) {}

  push(data: Uint8Array): void {
    this.waiting.push(data);
    this.size += data.length;
    while (this.size > this.bound.kept) this.leaveOut(this.waiting.shift()!);
    this.pump();
  }

  /** end drops what waits: the terminal is gone. */
  end(): void {
    this.waiting = [];
  }

  private leaveOut(data: Uint8Array): void {
    this.size -= data.length;
    this.left += data.length;
  }

  private pump(): void {
    while (this.waiting.length > 0 && this.under < this.bound.under) {
      if (this.left > 0) this.give(new TextEncoder().encode(notice(this.left)));
      this.left = 0;
      const data = this.waiting.shift()!;
      this.size -= data.length;
      this.give(data);
    }
  }

  private give(data: Uint8Array): void {
    this.under += data.length;
    this.write(data, () => {
      this.under -= data.length;
      this.pump();
    });
  }
}

/** notice first ends whatever was cut in two: a sequence by CAN, its colours, its line. */
const notice = (bytes: number) => `\x18\x1b[0m\r\n[${bytes.toLocaleString("en")} bytes came too fast to be shown]\r\n`;
