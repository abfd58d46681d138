import { expect, it } from "vitest";
import { endingOf, type ExecStatus } from "../../src/pure/exec_end";

const missing = 'OCI runtime exec failed: exec failed: unable to start container process: exec: "bash": executable file not found in $PATH: invalid';

it.each<[string, ExecStatus, string[], string]>([
  ["a command that is done", { status: "Success" }, ["sh"], "The command has ended."],
  ["a command with an exit code", { status: "Failure", message: "x", details: { causes: [{ reason: "ExitCode", message: "7" }] } }, ["sh"], "The command has ended with exit code 7."],
  ["a program that the image lacks", { status: "Failure", message: missing }, ["bash", "-l"], 'The image has no program "bash". Try sh.'],
  ["an image without a shell", { status: "Failure", message: missing }, ["sh"], 'The image has no program "sh". “Debug…” starts a container with a shell beside this one.'],
  ["another failure", { status: "Failure", message: "container not running" }, ["sh"], "container not running"],
])("%s", (_, status, command, want) => expect(endingOf(status, command)).toBe(want));
