/** Server-sent events over fetch: EventSource cannot send the token's header. */
import { isGivenUp, Problem, request } from "./api";

export interface SentEvent {
  id: string;
  kind: string;
  data: unknown;
}

/** Pauses between attempts to reconnect, in milliseconds; the last one repeats. */
const PAUSES_MS = [500, 1000, 2000, 5000, 10_000];

/** Splits a stream's text into events; keeps what is not complete yet. */
export class EventParser {
  private rest = "";

  push(text: string): SentEvent[] {
    this.rest += text;
    const blocks = this.rest.split(/\r?\n\r?\n/);
    this.rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => {
      const event = { id: "", kind: "message", data: "" };
      let hasData = false;
      for (const line of block.split(/\r?\n/)) {
        const colon = line.indexOf(":");
        // A line that starts with a colon is a comment, which only keeps the connection alive.
        if (colon === 0) continue;
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "id") event.id = value;
        else if (field === "event") event.kind = value;
        else if (field === "data") {
          event.data += hasData ? `\n${value}` : value;
          hasData = true;
        }
      }
      return hasData ? [{ ...event, data: JSON.parse(event.data) as unknown }] : [];
    });
  }
}

/** How a stream stands. */
export type Connection = "open" | "reconnecting" | "ended";

/**
 * Reads a run's events until `end`, and reconnects where it was when the connection breaks.
 * `onEvents` gets all events that arrived together.
 */
export async function follow(
  path: string,
  signal: AbortSignal,
  onEvents: (events: SentEvent[]) => void,
  onConnection: (connection: Connection) => void,
): Promise<void> {
  let last = "";
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      const headers: HeadersInit = last ? { "Last-Event-ID": last } : {};
      const response = await request(path, { headers, signal });
      onConnection("open");
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const piece = await reader?.read();
        if (!piece || piece.done) break;
        const events = parser.push(piece.value);
        if (events.length === 0) continue;
        attempt = 0;
        last = events.at(-1)?.id ?? last;
        onEvents(events);
        if (events.some((event) => event.kind === "end")) {
          onConnection("ended");
          return;
        }
      }
    } catch (error) {
      if (isGivenUp(error)) return;
      // Trying again changes nothing about a wrong token or an unknown run.
      if (error instanceof Problem && error.status >= 400 && error.status < 500) throw error;
    }
    onConnection("reconnecting");
    const pause = PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)] ?? 0;
    await new Promise((done) => setTimeout(done, pause));
  }
}
