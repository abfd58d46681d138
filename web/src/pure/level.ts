// The level of a log line, as its logger meant it.

export type Level = "error" | "warn" | "debug" | "";

/** levelNamed maps the word of a logger, or the number of pino and bunyan. Empty stands for the usual. */
function levelNamed(word: string): Level {
  if (/^\d+$/.test(word)) return Number(word) >= 50 ? "error" : Number(word) >= 40 ? "warn" : Number(word) >= 30 ? "" : "debug";
  if (/^(e|err|error|severe|f|fatal|panic|dpanic|c|crit|critical|alert|emerg|emergency)$/i.test(word)) return "error";
  if (/^(w|warn|warning)$/i.test(word)) return "warn";
  return /^(d|debug|trace|verbose|fine|finer|finest)$/i.test(word) ? "debug" : "";
}

const name = "(?:log\\.)?(?:level|lvl|severity|levelname|log_level|loglevel)";
const json = new RegExp(`"@?${name}"\\s*:\\s*"?(\\w+)`, "i");
const logfmt = new RegExp(`(?:^|[\\s,])${name}="?(\\w+)`, "i");
const klog = /^([IWEF])\d{4} \d\d:\d\d:\d\d/;
/** A level in capitals or in brackets, where loggers write it: behind the time. */
const words = /\b(EMERGENCY|EMERG|ALERT|CRITICAL|CRIT|FATAL|PANIC|SEVERE|ERROR|ERR|WARNING|WARN|NOTICE|INFO|DEBUG|TRACE)\b|[[<](emerg|alert|crit|critical|fatal|error|err|warning|warn|notice|info|debug|trace)[\]>]/;
/** What programs print without a logger. */
const begun = /^(?:\S{1,40}: )?(fatal|panic|error|warning)(?: error)?:/i;
const raised = [
  /^(?:Exception in thread|Caused by:|Traceback \(most recent call last\):|Unhandled exception|Uncaught )/,
  /^(?:[a-z_]\w*\.)*[A-Z]\w*(?:Exception|Error)(?::|$)/, // java.lang.IllegalStateException: boom
  /^\s+(?:at [\w$.<>/]+\(|File "[^"]*", line \d+)|^\s+at .+:\d+:\d+\)?$/, // frames of Java, Python and JavaScript
  /^goroutine \d+ \[/,
];

const beginning = 160; // characters

/** levelOf takes the level that the line gives explicitly, and otherwise judges by its beginning. */
export function levelOf(text: string): Level {
  const line = text.length > 4096 ? text.slice(0, 4096) : text;
  const isJson = /^\s*\{/.test(line);
  const explicit = (isJson ? json : logfmt).exec(line)?.[1] ?? klog.exec(line)?.[1];
  if (explicit !== undefined || isJson) return levelNamed(explicit ?? "");
  const start = line.slice(0, beginning);
  if (raised.some((pattern) => pattern.test(line))) return "error";
  const plain = begun.exec(start)?.[1];
  if (plain) return levelNamed(plain);
  const found = words.exec(start);
  return levelNamed(found?.[1] ?? found?.[2] ?? "");
}
