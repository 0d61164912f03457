import { defineConfig } from "vite";

// `npm run dev` serves the page with hot reloading and passes the API on to a service on its default port.
const SERVICE = "http://127.0.0.1:5000";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    // The page's policy allows no inline script, so none is generated.
    modulePreload: { polyfill: false },
    // The policy allows no data: URL for scripts and styles either.
    assetsInlineLimit: 0,
    reportCompressedSize: true,
  },
  server: {
    fs: { allow: [".."] },
    proxy: { "/api": { target: SERVICE, changeOrigin: true, headers: { origin: SERVICE } } },
  },
});
