import { describe, expect, it } from "vitest";
import { csvOf } from "../../src/pure/export";

describe("csvOf", () => {
  it("begins with the names of the columns, and keeps their order", () => {
    expect(csvOf([{ name: "a", restarts: 2 }, { restarts: 0, name: "b" }])).toBe("name,restarts\r\na,2\r\nb,0\r\n");
  });

  it("quotes what would end a cell", () => {
    expect(csvOf([{ why: 'says "no", twice\nor more' }])).toBe('why\r\n"says ""no"", twice\nor more"\r\n');
  });

  it("leaves nothing to a spreadsheet to calculate", () => {
    expect(csvOf([{ a: "=1+1", b: "@x", c: "-x", d: -1, e: "a=b", f: undefined }])).toBe("a,b,c,d,e,f\r\n'=1+1,'@x,'-x,-1,a=b,\r\n");
  });

  it("has a table without rows as an empty file", () => {
    expect(csvOf([])).toBe("\r\n");
  });
});
