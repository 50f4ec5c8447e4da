import { defineConfig } from "vite";
import { checkLicenses } from "./licenses.ts";

// One script without parts to load, for pages that are opened from disk.
export default defineConfig({
  resolve: { alias: [{ find: "./place", replacement: "./place.offline" }] },
  define: { __OFFLINE__: "true" },
  plugins: [checkLicenses()],
  publicDir: false,
  build: {
    outDir: "dist",
    emptyOutDir: false,
    chunkSizeWarningLimit: 1500,
    rolldownOptions: {
      input: "src/offline.tsx",
      output: {
        format: "iife",
        codeSplitting: false,
        entryFileNames: "assets/offline.js",
      },
    },
  },
});
