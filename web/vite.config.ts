import { defineConfig } from "vite";
import { checkLicenses } from "./licenses.ts";

// The page is served below a secret path, so that its parts are found relative to it.
export default defineConfig({
  base: "./",
  define: { __OFFLINE__: "false" },
  plugins: [checkLicenses()],
  worker: {
    format: "es",
    plugins: () => [checkLicenses()],
    rolldownOptions: { output: { entryFileNames: "assets/[name].js" } },
  },
  build: {
    outDir: "dist",
    chunkSizeWarningLimit: 1500,
    // Bazel wants to know the names beforehand.
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
});
