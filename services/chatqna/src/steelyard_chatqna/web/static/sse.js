// Server-sent events from a fetch body: yields the data of each complete event, however the bytes are split.

export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      pending += value;
      const blocks = pending.split(/\r\n\r\n|\n\n|\r\r/);
      pending = blocks.pop();
      for (const block of blocks) {
        const data = block
          .split(/\r\n|\n|\r/)
          .filter((line) => line.startsWith("data:"))
          .map((line) => line.slice(5).replace(/^ /, ""));
        if (data.length) yield data.join("\n");
      }
    }
  } finally {
    reader.releaseLock();
  }
}
