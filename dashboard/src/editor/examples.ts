/** The repository's examples, each loaded when it is chosen. */
const files = import.meta.glob<string>("../../../examples/experiments/*.yaml", {
  query: "?raw",
  import: "default",
});

export interface Example {
  name: string;
  load: () => Promise<string>;
}

export const EXAMPLES: Example[] = Object.entries(files)
  .map(([path, load]) => ({ name: (path.split("/").at(-1) ?? path).replace(".yaml", ""), load }))
  // The ones that need no storage come first.
  .sort(
    (a, b) =>
      Number(b.name.endsWith("-sim")) - Number(a.name.endsWith("-sim")) || a.name.localeCompare(b.name),
  );
