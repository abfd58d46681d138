import { defineConfig } from "vitest/config";

// The node serves everything below /ui/. Nothing is inlined: the page's policy allows no inline
// script and no data: font.
export default defineConfig({
  base: "/ui/",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: "dist/app",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "manifest.json",
    chunkSizeWarningLimit: 600,
  },
  server: { fs: { allow: [".", "../openapi"] } }, // for the tests
  test: { include: ["test/unit/**/*.test.ts"], css: true /* to be read: the contrast of colours is tested */ },
});
