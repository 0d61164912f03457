/** A report or a comparison: the service's own page in a frame without access to this one. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "../api";
import { useLoaded } from "../hooks";
import { ErrorLine, PageTitle } from "../parts";
import { to } from "../router";

function Framed({ html, title }: { html: string; title: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    // The frame's origin is its own (`null`), so the message is sent to whatever is in it: that is our own file.
    const ready = (event: MessageEvent): void => {
      const inside = frame.current?.contentWindow;
      if (inside && event.source === inside) inside.postMessage(html, "*");
    };
    addEventListener("message", ready);
    return () => removeEventListener("message", ready);
  }, [html]);
  return (
    <iframe
      ref={frame}
      class="report"
      title={title}
      src="/frame.html"
      sandbox="allow-scripts allow-downloads"
    />
  );
}

function Saved({ html, name }: { html: string; name: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([html], { type: "text/html" }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [html]);
  return (
    <a class="button" href={address} download={name}>
      Save as a file
    </a>
  );
}

export function ReportPage({ id }: { id: string }) {
  const { value: html, error } = useLoaded(`report ${id}`, () => api.report(id));
  return (
    <>
      <PageTitle title={`Report of run ${id}`}>
        <div class="actions">
          <a class="button" href={to.run(id)}>
            Back to the run
          </a>
          {html && <Saved html={html} name={`manometer-${id}.html`} />}
        </div>
      </PageTitle>
      <ErrorLine text={error} />
      {!html && !error && <p class="soft">Loading the report…</p>}
      {html && <Framed html={html} title={`The report of run ${id}`} />}
    </>
  );
}

export function ComparePage({ a, b }: { a: string; b: string }) {
  const { value: html, error } = useLoaded(`compare ${a} ${b}`, () => api.comparison(a, b));
  return (
    <>
      <PageTitle title={`Run ${b} compared with ${a}`}>
        <div class="actions">
          <a class="button" href={to.compare(b, a)}>
            Swap
          </a>
          {html && <Saved html={html} name={`manometer-${a}-${b}.html`} />}
        </div>
      </PageTitle>
      <ErrorLine text={error} />
      {!html && !error && <p class="soft">Loading the comparison…</p>}
      {html && <Framed html={html} title={`The comparison of run ${b} with ${a}`} />}
    </>
  );
}
