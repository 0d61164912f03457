/** Lets the experiment in the editor run at given times. */
import { useState } from "preact/hooks";
import { api, textOf } from "../api";
import { ErrorLine } from "../parts";
import { go, to } from "../router";

const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

export function ScheduleForm({ text, disabled }: { text: string; disabled: boolean }) {
  const [every, setEvery] = useState("1d at 02:00");
  const [zone, setZone] = useState(ownZone);
  const [webhook, setWebhook] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const add = (event: Event): void => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    api
      .addSchedule({ experiment: text, every, time_zone: zone, webhook: webhook.trim() || null })
      .then(() => go(to.schedules))
      .catch((problem: unknown) => setError(textOf(problem)))
      .finally(() => setBusy(false));
  };
  return (
    <details class="card">
      <summary>Run it at given times</summary>
      <form class="actions" onSubmit={add}>
        <label>
          Every{" "}
          <input
            required
            value={every}
            aria-describedby="every-help"
            onInput={(event) => setEvery(event.currentTarget.value)}
          />
        </label>
        <label>
          Time zone <input required value={zone} onInput={(event) => setZone(event.currentTarget.value)} />
        </label>
        <label>
          Webhook{" "}
          <input
            value={webhook}
            placeholder="none"
            inputMode="url"
            onInput={(event) => setWebhook(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={busy || disabled}>
          Add the schedule
        </button>
      </form>
      <p class="soft" id="every-help">
        30m, 6h, 1d at 02:00, or 1w on mon,thu at 02:00. Each run is compared with the earlier ones; the
        webhook is called when one is slower or fails.
      </p>
      <ErrorLine text={error} />
    </details>
  );
}
