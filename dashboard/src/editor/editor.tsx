/** A text field with line numbers and the faults at their lines. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Fault } from "../types";

interface EditorProps {
  text: string;
  faults: Fault[];
  change: (text: string) => void;
  submit: () => void;
  /** Id of the element that describes the faults. */
  describedBy: string;
}

/** The place of a fault in a text. */
export function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return before + Math.min(column - 1, lines[line - 1]?.length ?? 0);
}

/** Puts the cursor on a fault. */
export function select(field: HTMLTextAreaElement, fault: Fault): void {
  const start = offsetOf(field.value, fault.line, fault.column);
  field.focus();
  field.setSelectionRange(start, start + Math.max(fault.length, 1));
  const lineHeight = Number.parseFloat(getComputedStyle(field).lineHeight);
  field.scrollTop = Math.max(0, (fault.line - 4) * lineHeight);
}

export function Editor({ text, faults, change, submit, describedBy }: EditorProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const marks = useRef<HTMLDivElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const lines = text.split("\n");
  const faulty = new Map<number, Fault[]>();
  for (const fault of faults) faulty.set(fault.line, [...(faulty.get(fault.line) ?? []), fault]);
  const scroll = (): void => {
    const { scrollTop = 0, scrollLeft = 0 } = field.current ?? {};
    if (gutter.current) gutter.current.scrollTop = scrollTop;
    if (marks.current) {
      marks.current.scrollTop = scrollTop;
      marks.current.scrollLeft = scrollLeft;
    }
  };
  useLayoutEffect(scroll, [text, faults]);
  return (
    <div class="editor">
      <div class="gutter" ref={gutter} aria-hidden="true">
        {lines.map((_, at) => (
          <div key={at} class={faulty.has(at + 1) ? "faulty" : ""} title={faulty.get(at + 1)?.[0]?.text}>
            {at + 1}
          </div>
        ))}
      </div>
      <div class="sheet">
        <div class="marks" ref={marks} aria-hidden="true">
          {lines.map((line, at) => {
            const fault = faulty.get(at + 1)?.[0];
            if (!fault) return <div key={at}>{line || " "}</div>;
            const start = Math.min(fault.column - 1, line.length);
            const end = Math.max(start + 1, start + fault.length);
            return (
              <div key={at} class="faulty">
                {line.slice(0, start)}
                <mark>{line.slice(start, end) || " "}</mark>
                {line.slice(end)}
              </div>
            );
          })}
        </div>
        <textarea
          id="experiment"
          ref={field}
          value={text}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          aria-label="The experiment"
          aria-invalid={faults.length > 0}
          aria-describedby={describedBy}
          onInput={(event) => change(event.currentTarget.value)}
          onScroll={scroll}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              submit();
            }
          }}
        />
      </div>
    </div>
  );
}
