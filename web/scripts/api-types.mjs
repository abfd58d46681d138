// Writes src/api/gen.ts: the types of the API, from its OpenAPI document.
import { readFileSync, writeFileSync } from "node:fs";

const here = new URL("../", import.meta.url);
const document = JSON.parse(readFileSync(new URL("../openapi/openapi.json", here), "utf8"));

const nameOf = (full) => full.replace(/^node\.v1\.|^google\.rpc\./, "");

function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref.split("/").pop());
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  switch (schema.type) {
    case "array":
      return `Array<${typeOf(schema.items ?? {})}>`;
    case "object":
      return schema.properties && !schema.additionalProperties ? fields(schema) : "Record<string, unknown>";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "string":
      return "string"; // 64-bit integers, times and durations included
    default:
      return "unknown";
  }
}

const comment = (text, indent = "  ") => (text ? `${indent}/** ${text.replaceAll("*/", "* /").replaceAll("\n", " ")} */\n` : "");

// Answers omit unset fields, so each field is optional.
function fields(schema) {
  const lines = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => `${comment(field.description)}  ${name}?: ${typeOf(field)};\n`,
  );
  return `{\n${lines.join("")}}`;
}

let text = "// Made by scripts/api-types.mjs out of openapi/openapi.json.\n";
const own = Object.entries(document.components.schemas).filter(([full]) => !full.startsWith("io.k8s."));
for (const [full, schema] of own.sort(([a], [b]) => (a < b ? -1 : 1))) {
  const isMessage = schema.type === "object" && !schema.additionalProperties;
  text += `\n${comment(schema.description, "")}export ${isMessage ? `interface ${nameOf(full)} ${fields(schema)}` : `type ${nameOf(full)} = ${typeOf(schema)};`}\n`;
}
writeFileSync(new URL("src/api/gen.ts", here), text);
