// Amounts as Kubernetes writes them, such as 250m and 64Mi, and as people read them.

const factors: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

/** quantity parses an amount; null if there is none. */
export function quantity(text: unknown): number | null {
  const found = /^([+-]?\d*\.?\d+(?:[eE][+-]?\d+)?)([numkMGTPE]?|[KMGTPE]i)$/.exec(String(text ?? ""));
  if (!found) return null;
  const value = Number(found[1]) * (factors[found[2]!] ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

/** cores formats CPUs: thousandths below one. */
export function cores(n: number): string {
  if (n >= 0.9995) return `${n.toFixed(2)} cores`;
  return `${(n * 1000).toFixed(n < 0.00995 && n > 0 ? 1 : 0)}m`;
}

/** percent keeps the sign on the same line. */
export const percent = (part: number, whole: number) => `${((part / whole) * 100).toFixed(part / whole < 0.0995 ? 1 : 0)}\u00a0%`;
