import { expect, test } from "vitest";
import { EventParser } from "./sse";

test("events are complete however the text is cut", () => {
  const text =
    ': hello\n\nid: 1\nevent: interval\ndata: {"a":\ndata: 1}\n\nid: 2\nevent: end\ndata: null\n\n';
  for (const size of [1, 2, 7, text.length]) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    expect(events).toEqual([
      { id: "1", kind: "interval", data: { a: 1 } },
      { id: "2", kind: "end", data: null },
    ]);
  }
});
