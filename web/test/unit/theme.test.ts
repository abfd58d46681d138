import { describe, expect, it } from "vitest";
import podStyle from "../../src/style/pod.css?raw";
import themeStyle from "../../src/style/theme.css?raw";

type Theme = Record<string, string>;

const [lightText, darkText] = themeStyle.split(':root[data-theme="dark"]') as [string, string];
const coloursOf = (text: string): Theme => Object.fromEntries([...text.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, colour]) => [name!, colour!]));
const light = coloursOf(lightText);
const themes: Array<[string, Theme]> = [["light", light], ["dark", { ...light, ...coloursOf(darkText.split("@media")[0]!) }]];

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

/** contrast returns WCAG's contrast, from 1 to 21. */
function contrast(a: string, b: string): number {
  const [dark, bright] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (bright! + 0.05) / (dark! + 0.05);
}

const states = ["ready", "starting", "failing", "failed", "leaving", "done"];
const sources = Array.from({ length: 16 }, (_, i) => `f${i}`);
const texts: Array<[text: string, on: string]> = [
  ...["text", "muted", "accent", ...states].flatMap((text): Array<[string, string]> => [[text, "bg"], [text, "raised"], [text, "sunken"]]),
  ...sources.map((text): [string, string] => [text, "raised"]),
  ...["failed", "failing"].map((text): [string, string] => [text, `${text}-soft`]),
  ...["failing-soft", "warn-soft", "accent-soft"].map((on): [string, string] => ["text", on]),
  ...["pull", "run", "hold", "bad-run", "mark"].map((on): [string, string] => [`${on}-text`, on]),
  ["on-accent", "accent"],
];

describe.each(themes)("in the %s theme", (_, theme) => {
  it.each(texts)("%s is readable on %s", (text, on) => expect(contrast(theme[text]!, theme[on]!)).toBeGreaterThanOrEqual(4.5));

  // The timeline and the probes are drawn on --raised and on the page.
  const drawn = [...podStyle.matchAll(/^([^{}]*(?:\.body|\.mark|\.mark\.bad|\.probe-bad|\.probe-strip|\.hatch|\.ready-line)) \{ ([^}]*) \}/gm)].map(([, selector, rule]) => [selector!, rule!]);
  it("finds the drawn elements", () => expect(drawn.length).toBeGreaterThanOrEqual(12));
  it.each(drawn)("%s is visible", (_, rule) => {
    const outlines = [...rule!.matchAll(/\b(?:stroke|fill|border): (?:1px solid )?var\(--([\w-]+)\)/g)].map(([, name]) => theme[name!]!);
    for (const ground of ["raised", "bg"]) expect(Math.max(...outlines.map((colour) => contrast(colour, theme[ground]!)))).toBeGreaterThanOrEqual(3);
  });

  it("text on the steps of a timeline is readableable", () => {
    const bars = [...podStyle.matchAll(/\.bar-(\w+) \.body \{ fill: var\(--([\w-]+)\)[^}]*\} \.timeline \.bar-\1 text \{ fill: var\(--([\w-]+)\)/g)];
    expect(bars.map(([, kind]) => kind)).toEqual(["sandbox", "create", "start", "pull", "run", "hold"]);
    for (const [, , fill, text] of bars) expect(contrast(theme[fill!]!, theme[text!]!)).toBeGreaterThanOrEqual(4.5);
  });
  it("the hatch of a failed run is visible on its bar", () => expect(contrast(theme["failing"]!, theme["bad-run"]!)).toBeGreaterThanOrEqual(3));
});
