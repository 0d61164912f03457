/** Data from the API in components, and keys. */
import { useEffect, useRef, useState } from "preact/hooks";
import { textOf } from "./api";

export interface Loaded<T> {
  value: T | null;
  error: string | null;
  reload: () => void;
}

/** Loads something when `key` changes and, if `everyMs` is given, again and again while the page is visible. */
export function useLoaded<T>(key: string, load: () => Promise<T>, everyMs?: number): Loaded<T> {
  const [state, setState] = useState<{ key: string; value: T | null; error: string | null }>({
    key,
    value: null,
    error: null,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let current = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = (): void => {
      if (current && everyMs !== undefined) timer = setTimeout(attempt, everyMs);
    };
    const attempt = (): void => {
      if (document.hidden) {
        again();
        return;
      }
      latest
        .current()
        .then((value) => current && setState({ key, value, error: null }))
        .catch((error: unknown) => {
          // What was loaded before stays on show.
          if (current) setState((before) => ({ key, value: before.value, error: textOf(error) }));
        })
        .finally(again);
    };
    attempt();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [key, everyMs, round]);
  const shown = state.key === key ? state : { value: null, error: null };
  return { value: shown.value, error: shown.error, reload: () => setRound((before) => before + 1) };
}

/** Moves the focus between the links of the rows of a list. */
export function step(by: number): void {
  const links = [...document.querySelectorAll<HTMLElement>(".run-link")];
  const at = links.findIndex((link) => link === document.activeElement);
  links[Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
}

const SHORTCUTS_KEY = "manometer-shortcuts";

/** Whether single keys do something; people who dictate turn that off. */
export const shortcuts = {
  on: (): boolean => localStorage.getItem(SHORTCUTS_KEY) !== "off",
  set: (on: boolean): void => localStorage.setItem(SHORTCUTS_KEY, on ? "on" : "off"),
};

/** Single keys, outside fields and dialogs. */
export function useKeys(keys: Record<string, () => void>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const target = event.target instanceof Element ? event.target : null;
      const typing = target?.closest("input, textarea, select, dialog") != null;
      if (typing || event.ctrlKey || event.metaKey || event.altKey || !shortcuts.on()) return;
      const action = latest.current[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}
