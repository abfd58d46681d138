import { describe, expect, it } from "vitest";
import { levelOf } from "../../src/pure/level";
import { seekOf } from "../../src/pure/seek";

describe("the level of a line", () => {
  it.each<[string, string, string]>([
    // logfmt
    ["error", "logfmt", 'time=2026-11-23T08:50:42Z level=error msg="cannot bind"'],
    ["warn", "logfmt, quoted", 'level="warning" msg=careful'],
    ["", "logfmt that tells of an error", 'level=info msg="retrying after error"'],
    ["", "logfmt that quotes a level of another", 'level=info msg="got ERROR from upstream"'],
    ["debug", "logfmt, debug", "ts=1 lvl=debug msg=x"],
    // JSON
    ["", "JSON with a field named error", '{"level":"info","error":null,"msg":"ok"}'],
    ["error", "JSON by severity", '{"severity":"ERROR","message":"boom"}'],
    ["error", "JSON of pino", '{"level":50,"time":1,"msg":"boom"}'],
    ["warn", "JSON of pino, warning", '{"level":40,"msg":"careful"}'],
    ["", "JSON of pino, info", '{"level":30,"msg":"ERROR is a word"}'],
    ["debug", "JSON of bunyan, debug", '{"name":"x","level":20,"msg":"m"}'],
    ["error", "JSON of ECS", '{"@timestamp":"x","log.level":"error","message":"boom"}'],
    ["", "JSON without a level", '{"msg":"an ERROR that is none"}'],
    // klog
    ["error", "klog", "E1123 08:50:42.123456       1 server.go:12] \"boom\""],
    ["warn", "klog, warning", "W1123 08:50:42.123456       1 reflector.go:1] slow"],
    ["", "klog, info", "I1123 08:50:42.123456       1 main.go:1] \"error budget\" ERROR=0"],
    ["error", "klog, fatal", "F1123 08:50:42.123456       1 main.go:1] over"],
    // Java
    ["error", "Java's loggers", "2026-11-23 08:50:42,123 ERROR [main] o.s.Boot - boom"],
    ["", "Java's loggers, info", "2026-11-23 08:50:42,123  INFO [main] o.s.Boot - retry after ERROR"],
    ["error", "an exception of Java", "java.lang.IllegalStateException: boom"],
    ["error", "its cause", "Caused by: java.io.IOException: no"],
    ["error", "a frame of Java", "\tat com.example.Shop.main(Shop.java:12)"],
    ["error", "java.util.logging", "SEVERE: out of memory"],
    // Python
    ["error", "Python's traceback", "Traceback (most recent call last):"],
    ["error", "a frame of Python", '  File "/app/shop.py", line 12, in main'],
    ["error", "an error of Python", "ValueError: invalid literal"],
    ["warn", "Python's logging", "WARNING:root:careful"],
    ["debug", "Python's logging, debug", "2026-11-23 08:50:42,123 - shop - DEBUG - x"],
    // Others
    ["error", "nginx", '2026/11/23 08:50:42 [error] 12#12: *1 open() "/x" failed'],
    ["warn", "nginx, warning", "2026/11/23 08:50:42 [warn] 12#12: slow"],
    ["", "an access log of a page named ERROR", '127.0.0.1 - - [23/Nov/2026] "GET /error HTTP/1.1" 200'],
    ["error", "a panic of Go", "panic: runtime error: index out of range"],
    ["error", "a goroutine of it", "goroutine 1 [running]:"],
    ["error", "a program without a logger", "curl: error: no such host"],
    ["warn", "a compiler", "warning: unused variable"],
    ["error", "a shell script", "ERROR: it broke"],
    ["", "a sentence", "There was no error at all"],
    ["", "Postgres", "2026-11-23 08:50:42 UTC [1] LOG:  database system is ready"],
    ["error", "Postgres, fatal", "2026-11-23 08:50:42 UTC [33] FATAL:  role \"x\" does not exist"],
    ["error", "Rust", "2026-11-23T08:50:42Z ERROR shop::db: boom"],
  ])("%s: %s", (want, _, line) => {
    expect(levelOf(line)).toBe(want);
  });
});

describe("what is sought in a log", () => {
  it("is taken as it stands, in any case", () => {
    const { matches, cut } = seekOf("a.b(");
    expect([matches("say A.B( here"), matches("axb(")]).toEqual([true, false]);
    expect(cut("say A.B( here")).toEqual(["say ", "A.B(", " here"]);
  });
  it("may be an expression between slashes", () => {
    const { matches, cut } = seekOf("/line number 49[0-9]{2}/");
    expect([matches("LINE number 4912"), matches("line number 5012")]).toEqual([true, false]);
    expect(cut("line number 4912, line number 4999")).toEqual(["", "line number 4912", ", ", "line number 4999", ""]);
  });
  it("may mind the case", () => {
    expect([seekOf("/Boom/c").matches("boom"), seekOf("/Boom/c").matches("Boom")]).toEqual([false, true]);
  });
  it("says why an expression is none, and finds nothing by it", () => {
    for (const wrong of ["/a(/", "/a)(b/", "/[z-a]/"]) {
      const seek = seekOf(wrong);
      expect(seek.problem).not.toBe("");
      expect(seek.matches("a")).toBe(false);
      expect(seek.cut("a(b")).toEqual(["a(b"]);
    }
  });
  it("finds paths, which begin with a slash as well", () => {
    expect(seekOf("/srv/data").matches("open /srv/data/x")).toBe(true);
    expect(seekOf("/").matches("a/b")).toBe(true);
  });
  it("marks nothing for an empty match", () => {
    expect(seekOf("/x*/").cut("ab")).toEqual(["ab"]);
    expect(seekOf("").cut("ab")).toEqual(["ab"]);
  });
});
