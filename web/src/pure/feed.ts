// What a program prints, for a terminal that may be slower.

export interface Bounds {
  under: number; // bytes that the terminal is given at once
  kept: number; // bytes that may wait beside those
}

// A terminal that is given 50 MB throws; long before that Ctrl-C seems to do nothing.
const bounds: Bounds = { under: 128 << 10, kept: 1 << 20 };

type Write = (data: Uint8Array, done: () => void) => void;

/**
 * Feed gives a terminal what it can take. A WebSocket cannot be told to wait, so
 * of what comes faster the oldest is left out, which is said where it would stand.
 */
export class Feed {
  private waiting: Uint8Array[] = [];
  private size = 0;
  private under = 0;
  private left = 0; // out, and not said yet

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

  /** end forgets what waits: nobody looks any more. */
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

/** notice first ends what was cut in two: a sequence by CAN, its colours, its line. */
const notice = (bytes: number) => `\x18\x1b[0m\r\n[${bytes.toLocaleString("en")} bytes came too fast to be shown]\r\n`;
