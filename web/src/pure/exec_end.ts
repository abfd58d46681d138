// How a command in a container has ended, and what to do if it could not begin.

export interface ExecStatus {
  status?: string;
  message?: string;
  details?: { causes?: Array<{ reason?: string; message?: string }> };
}

export function endingOf(s: ExecStatus, command: readonly string[]): string {
  if (s.status === "Success") return "The command has ended.";
  const code = s.details?.causes?.find((c) => c.reason === "ExitCode")?.message;
  if (code) return `The command has ended with exit code ${code}.`;
  const message = s.message ?? "The command has failed.";
  if (!/executable file not found|exec: .*no such file or directory/.test(message)) return message;
  const [program = ""] = command;
  const other = program === "sh" ? "“Debug…” starts a container with a shell beside this one." : "Try sh.";
  return `The image has no program ${JSON.stringify(program)}. ${other}`;
}
