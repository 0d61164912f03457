// Compresses the built files once, so that the service does not do it for every request.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LEAST_SAVED_BYTES = 256;

for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const path = join(entry.parentPath ?? entry.path, entry.name);
  const bytes = readFileSync(path);
  const compressed = gzipSync(bytes, { level: 9 });
  if (compressed.length + LEAST_SAVED_BYTES < bytes.length) writeFileSync(`${path}.gz`, compressed);
}
