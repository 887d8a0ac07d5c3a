// One line a file and a count at the end; everything of what failed.

export default async function* reporter(events) {
  const count = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of events) {
    if (type === "test:stdout" || type === "test:stderr") yield data.message;
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.details?.type === "suite" || data.name?.endsWith(".test.ts")) continue;
    const kind = data.skip !== undefined ? "skipped" : type === "test:pass" ? "passed" : "failed";
    count[kind]++;
    if (kind === "skipped") yield `SKIPPED ${data.name}: ${data.skip}\n`;
    if (kind === "failed") yield `FAILED ${data.name} (${data.file})\n${data.details.error?.cause?.stack ?? data.details.error}\n`;
    if (process.env.VERBOSE) yield `${kind} ${data.name} ${Math.round(data.details.duration_ms)} ms\n`;
  }
  yield `extension: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`;
}
