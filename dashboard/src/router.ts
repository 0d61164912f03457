/** Pages by the part of the address after `#`, so that the service needs to know none of them. */
import { useEffect, useState } from "preact/hooks";

export interface Place {
  parts: string[];
  query: URLSearchParams;
}

export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const to = {
  runs: "#/",
  run: (id: string): string => `#/runs/${encodeURIComponent(id)}`,
  report: (id: string): string => `#/runs/${encodeURIComponent(id)}/report`,
  compare: (a: string, b: string): string => `#/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`,
  start: "#/start",
  startFrom: (id: string): string => `#/start?from=${encodeURIComponent(id)}`,
  schedules: "#/schedules",
  hosts: "#/hosts",
  host: (name: string): string => `#/hosts/${encodeURIComponent(name)}`,
  arrays: "#/arrays",
  array: (address: string): string => `#/arrays/${encodeURIComponent(address)}`,
  history: (name: string): string => `#/history/${encodeURIComponent(name)}`,
};

export const go = (address: string): void => {
  location.hash = address;
};

export function usePlace(): Place {
  const [place, setPlace] = useState(() => placeOf(location.hash));
  useEffect(() => {
    const moved = (): void => setPlace(placeOf(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}
