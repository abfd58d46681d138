// Server-sent events from pieces of text that are cut anywhere.

export interface SentEvent {
  event: string;
  data: string;
}

export class EventParser {
  private rest = "";
  private event = "";
  private data = "";

  /** push takes the next piece and returns the events that it completes. */
  push(piece: string): SentEvent[] {
    const found: SentEvent[] = [];
    this.rest += piece;
    for (;;) {
      const end = this.rest.indexOf("\n");
      if (end < 0) return found;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + 1);
      if (line === "") {
        if (this.data) found.push({ event: this.event || "message", data: this.data });
        this.event = this.data = "";
      } else if (line.startsWith("event: ")) {
        this.event = line.slice(7);
      } else if (line.startsWith("data: ")) {
        this.data += line.slice(6);
      }
    }
  }
}
