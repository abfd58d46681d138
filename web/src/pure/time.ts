// Times in as few words as distinguish them.

/** age never breaks over two lines. */
export function age(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 600) return s % 60 ? `${Math.floor(s / 60)}m\u00a0${s % 60}s` : `${s / 60}m`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 36_000) return `${Math.floor(s / 3600)}h\u00a0${Math.floor((s % 3600) / 60)}m`;
  if (s < 172_800) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86_400)}d`;
}

export const since = (time: string | undefined, now: number) => (time ? age(now - Date.parse(time)) : "");

/** seconds reads a duration of the API, such as "0.020871584s". */
export const seconds = (duration: string | undefined) => (duration ? Number.parseFloat(duration) : 0);

export function span(s: number): string {
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 0.01) return `${(s * 1e3).toFixed(1)} ms`;
  if (s < 1) return `${Math.round(s * 1e3)} ms`;
  if (s < 10) return `${s.toFixed(2)} s`;
  if (s < 60) return `${s.toFixed(1)} s`;
  return age(s * 1000);
}

const two = (n: number) => String(n).padStart(2, "0");

export function clock(time: string | number): string {
  const t = new Date(time);
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}

export function full(time: string | number): string {
  const t = new Date(time);
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock(time)}`;
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}
